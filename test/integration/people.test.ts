/** What people do while a run lives: whenever it comes, it is heard once and never lost. */
import { describe, expect, test } from "vitest";
import type { Happening } from "../../src/core/event.ts";
import type { CrashPoint } from "../../src/step/work.ts";
import { openCrew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, ASK, GET_ORDER, modelOf, scriptOf, textOf } from "../support/model.ts";
import { until } from "../support/until.ts";

const REPLY: Happening = { kind: "user_reply", id: "h1", text: "It is A-1." };

async function setup(replies = [ASK, ANSWER]) {
  const model = scriptOf(replies);
  const crew = await openCrew(model);
  /** Holds the n-th time that a step reaches the point. */
  const hold = (point: CrashPoint, nth = 1) => {
    const gate = createGate();
    let times = 0;
    const reach = (at: CrashPoint): Promise<void> => {
      if (at === point) times += 1;
      return at === point && times === nth ? gate.wait() : Promise.resolve();
    };
    return { gate, reach };
  };
  const parked = async () => {
    const runId = await crew.accept();
    await crew.once(runId, (state) => state.status === "waiting");
    await until(async () => (await crew.queue.presence(runId, 1)) === "absent");
    return runId;
  };
  return { model, hold, parked, ...crew };
}

describe("a customer's reply", () => {
  test("wakes a parked run, which sees it", async () => {
    const crew = await setup();
    await crew.hire();
    const runId = await crew.parked();
    await crew.post(runId, REPLY);
    expect(await crew.ended(runId)).toMatchObject({
      reason: "answered",
      replies: [{ text: "It is A-1." }],
      outward: [{ kind: "question" }, { kind: "answer" }],
    });
    expect(textOf(crew.model.requests[1])).toContain("It is A-1.");
  });

  test("that comes twice is heard once", async () => {
    const crew = await setup();
    const worker = await crew.hire();
    const runId = await crew.parked();
    await worker.close(1_000);
    await crew.post(runId, REPLY);
    await crew.post(runId, REPLY);
    await crew.hire();
    expect(await crew.ended(runId)).toMatchObject({ heard: 1, replies: [{}] });
  });

  test("just before the park's save makes the question stale, and is not lost", async () => {
    const crew = await setup();
    const { gate, reach } = crew.hold("before_save");
    await crew.hire({ reach });
    const runId = await crew.accept();
    await gate.reached;
    await crew.post(runId, REPLY);
    gate.open();
    expect(await crew.ended(runId)).toMatchObject({
      reason: "answered",
      replies: [{}],
      outward: [{ kind: "answer" }],
    });
  });

  test("just after the park's save, while its job still runs, is not lost", async () => {
    const crew = await setup();
    const { gate, reach } = crew.hold("after_save");
    await crew.hire({ reach });
    const runId = await crew.accept();
    await gate.reached;
    await crew.post(runId, REPLY);
    gate.open();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  });

  test.each(["after_load", "before_save", "after_save"] as const)(
    "that comes while the run was woken for nothing (%s) is not lost",
    async (point) => {
      const crew = await setup();
      const worker = await crew.hire();
      const runId = await crew.parked();
      await worker.close(1_000);
      const { ticket } = await crew.state(runId);
      // An old revision ends no wait: the run is woken, finds nothing and goes back to sleep.
      await crew.post(runId, { kind: "ticket_revision", id: "r1", ticket });
      const { gate, reach } = crew.hold(point);
      await crew.hire({ reach });
      await gate.reached;
      await crew.post(runId, REPLY);
      gate.open();
      expect(await crew.ended(runId)).toMatchObject({ reason: "answered", replies: [{}] });
    },
  );

  test("while an answer is about to leave stops that answer", async () => {
    const crew = await setup([ANSWER, GET_ORDER, ANSWER]);
    const { gate, reach } = crew.hold("before_save");
    await crew.hire({ reach });
    const runId = await crew.accept();
    await gate.reached;
    await crew.post(runId, REPLY);
    gate.open();
    const state = await crew.ended(runId);
    expect(state).toMatchObject({
      reason: "answered",
      spent: { steps: 3 },
      outward: [{ step: 3 }],
    });
    expect(await crew.events(runId)).toContainEqual(
      expect.objectContaining({ type: "not_executed", step: 1 }),
    );
  });
});

describe("a person who answers the ticket", () => {
  test("ends the run before its answer leaves", async () => {
    const crew = await setup([ANSWER]);
    const { gate, reach } = crew.hold("before_save");
    await crew.hire({ reach });
    const runId = await crew.accept();
    await gate.reached;
    await crew.post(runId, { kind: "human_reply", id: "h1", by: "u-7" });
    gate.open();
    expect(await crew.ended(runId)).toMatchObject({
      status: "handoff",
      reason: "human_took_over",
      outward: [],
    });
  });
});

describe("a cancel", () => {
  test("ends a parked run", async () => {
    const crew = await setup();
    await crew.hire();
    const runId = await crew.parked();
    await crew.post(runId, { kind: "cancel", id: "h1", why: "closed by phone" });
    expect(await crew.ended(runId)).toMatchObject({
      status: "cancelled",
      reason: "by_operator",
      outcome: { detail: "closed by phone" },
    });
  });

  test("between two steps lets no further model call leave", async () => {
    const crew = await setup([GET_ORDER, ANSWER]);
    const { gate, reach } = crew.hold("before_save");
    await crew.hire({ reach });
    const runId = await crew.accept();
    await gate.reached;
    await crew.post(runId, { kind: "cancel", id: "h1", why: "" });
    gate.open();
    expect(await crew.ended(runId)).toMatchObject({ status: "cancelled", spent: { steps: 1 } });
    expect(crew.model.requests).toHaveLength(1);
  });

  test("of a decided call that never ran says that it was not executed", async () => {
    const crew = await setup([GET_ORDER]);
    let deaths = 0;
    const runId = await crew.accept();
    await crew.hire({
      async reach(point) {
        if (point !== "after_journal" || deaths > 0) return;
        deaths += 1;
        await crew.post(runId, { kind: "cancel", id: "h1", why: "" });
        throw new Error("died after the journal");
      },
    });
    expect(await crew.ended(runId)).toMatchObject({ status: "cancelled", calls: [] });
    expect(await crew.events(runId)).toContainEqual(
      expect.objectContaining({ type: "not_executed" }),
    );
  });

  test("after the end changes nothing", async () => {
    const crew = await setup([ANSWER]);
    await crew.hire();
    const runId = await crew.accept();
    const ended = await crew.ended(runId);
    expect(await crew.store.post(runId, { kind: "cancel", id: "h1", why: "" })).toBe("ended");
    expect(await crew.state(runId)).toEqual(ended);
  });
});

test("a newer revision is what the next decision sees", async () => {
  const model = modelOf(({ turn }) => (turn === 0 ? GET_ORDER : ANSWER));
  const crew = await openCrew(model);
  const gate = createGate();
  await crew.hire({
    reach: (point, job) =>
      point === "before_save" && job.step === 1 ? gate.wait() : Promise.resolve(),
  });
  const runId = await crew.accept();
  await gate.reached;
  const { ticket } = await crew.state(runId);
  const revised = { ...ticket, revision: 2, body: "Forget A-1, I mean A-2." };
  await crew.post(runId, { kind: "ticket_revision", id: "r2", ticket: revised });
  gate.open();
  expect(await crew.ended(runId)).toMatchObject({ ticket: { revision: 2 }, grounds: 1 });
  expect(textOf(model.requests[1])).toContain("I mean A-2");
});
