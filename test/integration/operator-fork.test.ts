/** A fork goes on from a saved step as a run of its own, and the old run is only read. */
import { describe, expect, test } from "vitest";
import { runningMs } from "../../src/core/budget.ts";
import { forkRun } from "../../src/step/fork-run.ts";
import { storeOn } from "../support/backbone.ts";
import { createGate } from "../support/gate.ts";
import {
  ADD_NOTE,
  ANSWER,
  ASK_CUSTOMER,
  ASK_REFUND,
  caseOf,
  GET_ORDER,
  linesOf,
  openDesk,
  REFUND,
  refusalOf,
  type Desk,
} from "../support/operator-desk.ts";

/** Everything that the store and the outside know of a run. */
async function traceOf({ store, world }: Desk, runId: string) {
  const [run, lines] = [await store.read(runId), await store.events(runId)];
  return { run, lines, world: await world(runId) };
}

async function fork({ pawl }: Desk, runId: string, step: number) {
  const [forked] = await linesOf(pawl("fork", runId, "--from", String(step), "--json"));
  expect(forked).toMatchObject({ forkOf: runId, step });
  return { ...forked, id: forked?.["id"] as string };
}

async function refunded() {
  const desk = await openDesk();
  await desk.hire();
  const runId = await desk.begin(REFUND);
  await desk.waiting(runId);
  await desk.pawl("approve", `${runId}-a1`, "--by", "ann");
  await desk.ended(runId);
  return { desk, runId };
}

const copyOutside = () => Promise.resolve();

describe("a fork", () => {
  test("decides anew from its step, asks its own approval and leaves the old run", async () => {
    const { desk, runId } = await refunded();
    const before = await traceOf(desk, runId);
    const { id, ...told } = await fork(desk, runId, 2);
    expect(told).toMatchObject({
      status: "running",
      effectsAhead: [{ step: 3, tool: "create_refund" }],
    });
    expect(await desk.waiting(id)).toMatchObject({
      id,
      forkedFrom: { runId, step: 2 },
      facts: [{ key: "order.status", step: 1 }],
      pending: { id: `${id}-a1`, status: "pending" },
    });
    // The read before the fork is in its journal: nobody reads again before a person decides.
    expect(await desk.world(id)).toMatchObject({ modelCalls: 1, handlerCalls: {}, effects: {} });
    await linesOf(desk.pawl("approve", `${id}-a1`, "--by", "bob", "--json"));
    expect(await desk.ended(id)).toMatchObject({ reason: "effect_confirmed" });
    expect((await desk.world(id)).effects).toEqual({ create_refund: 1 });
    expect(await traceOf(desk, runId)).toEqual(before);
    for (const command of ["replay", "trace"]) {
      expect(await desk.pawl(command, id)).toMatchObject({ code: 0, stderr: "" });
    }
    expect(await desk.pawl("replay", runId)).toMatchObject({ code: 0 });
  });

  test("from the wait for an approval waits for one of its own, at once", async () => {
    const { desk, runId } = await refunded();
    const before = await traceOf(desk, runId);
    const { id, ...told } = await fork(desk, runId, 3);
    expect(told).toMatchObject({ status: "waiting", waiting: { for: "approval" } });
    await linesOf(desk.pawl("reject", `${id}-a1`, "--by", "bob", "--why", "no", "--json"));
    expect(await desk.ended(id)).toMatchObject({ status: "denied", reason: "approval_rejected" });
    expect((await desk.world(id)).effects).toEqual({});
    expect(await traceOf(desk, runId)).toEqual(before);
  });

  test("does not make again what was done before its step, and makes what comes after", async () => {
    const desk = await openDesk();
    await desk.hire();
    const runId = await desk.begin(caseOf([ADD_NOTE, GET_ORDER, ANSWER]));
    await desk.ended(runId);
    const notes = async (id: string) => (await desk.world(id)).effects["add_note"] ?? 0;
    const after = await fork(desk, runId, 2);
    expect(after).toMatchObject({ effectsAhead: [] });
    expect(await desk.ended(after.id)).toMatchObject({ reason: "answered", spent: { steps: 3 } });
    expect(await notes(after.id)).toBe(0);
    const whole = await fork(desk, runId, 1);
    expect(whole).toMatchObject({ status: "queued", effectsAhead: [{ step: 1 }] });
    expect(await desk.ended(whole.id)).toMatchObject({ reason: "answered" });
    expect(await notes(whole.id)).toBe(1);
    const keys = async (id: string) =>
      (await desk.events(id)).flatMap((event) =>
        event.type === "intended" ? [event.idempotencyKey] : [],
      );
    expect(await keys(after.id)).toEqual(await keys(runId));
    expect(await keys(whole.id)).not.toEqual(await keys(runId));
  });

  test("of a fork is a fork like any other", async () => {
    const { desk, runId } = await refunded();
    const first = await fork(desk, runId, 3);
    await desk.waiting(first.id);
    const second = await fork(desk, first.id, 2);
    expect(await desk.waiting(second.id)).toMatchObject({ pending: { id: `${second.id}-a1` } });
  });

  test("has the large results of the steps before it", async () => {
    const desk = await openDesk();
    await desk.hire();
    const order = { orderId: "A-1", status: "delivered", log: "x".repeat(20_000) };
    const file = caseOf([GET_ORDER, ANSWER], { tools: { get_order: [{ result: order }] } });
    const runId = await desk.begin(file);
    await desk.ended(runId);
    const { id } = await fork(desk, runId, 2);
    await desk.ended(id);
    const text = await desk.store.result(id, "c1");
    expect(text).toBe(JSON.stringify(order));
    expect(text).toBe(await desk.store.result(runId, "c1"));
  });

  test("goes on with the time that its step had left, however late it is made", async () => {
    const desk = await openDesk();
    await desk.hire();
    const runId = await desk.begin(REFUND);
    const old = await desk.waiting(runId);
    await desk.pawl("reject", `${runId}-a1`, "--by", "ann", "--why", "no");
    await desk.ended(runId);
    const dayMs = 86_400_000;
    const later = Date.now() + 30 * dayMs;
    const at = async (step: number, id: string) => {
      const deps = { store: desk.store, copyOutside, now: () => later, newId: () => id };
      const forked = await forkRun(deps, runId, step);
      return forked.kind === "forked" ? forked.state : null;
    };
    const running = await at(2, "late-2");
    expect(running).toMatchObject({ createdAt: later, waiting: null });
    expect(running && runningMs(running, later)).toBeLessThan(60_000);
    const waiting = await at(3, "late-3");
    expect(waiting && runningMs(waiting, later)).toBeLessThan(60_000);
    const left = (old.pending?.expiresAt ?? 0) - (old.pending?.requestedAt ?? 0);
    expect(waiting?.pending?.expiresAt).toBeGreaterThan(later + left - 60_000);
    expect(waiting?.waiting?.until).toBe(waiting?.pending?.expiresAt);
    // When a fact was observed is no matter of the fork.
    expect(waiting?.facts).toEqual(old.facts);
  });

  test.each(["composed", "apart"] as const)("brings the job of its step, %s", async (how) => {
    const { desk, runId } = await refunded();
    const store = storeOn(desk, how);
    // Only workers that know its outside could step it: this job stays.
    const deps = { store, copyOutside, now: Date.now, newId: () => "forked" };
    expect(await forkRun(deps, runId, 2)).toMatchObject({ kind: "forked", runId: "forked" });
    expect(await store.read("forked")).toMatchObject({ step: 2, rev: expect.any(Number) });
    expect(await desk.queue.presence("forked", 1)).toBe("absent");
    expect(await desk.queue.presence("forked", 2)).not.toBe("absent");
  });

  test("after a question waits for the reply", async () => {
    const desk = await openDesk();
    await desk.hire();
    const runId = await desk.begin(caseOf([ASK_CUSTOMER, ANSWER]));
    await desk.waiting(runId);
    await desk.pawl("reply", runId, "It is A-1.");
    await desk.ended(runId);
    const { id } = await fork(desk, runId, 2);
    await desk.waiting(id);
    await desk.pawl("reply", id, "It is A-2.");
    expect(await desk.ended(id)).toMatchObject({
      reason: "answered",
      replies: [{ text: "It is A-2." }],
    });
  });
});

describe("a fork is refused", () => {
  test("at a step that was never saved, with those that were", async () => {
    const desk = await openDesk();
    await desk.hire();
    const runId = await desk.begin(REFUND);
    await desk.waiting(runId);
    const refused = await refusalOf(desk.pawl("fork", runId, "--from", "3", "--json"));
    expect(refused).toMatchObject({
      code: "step_not_saved",
      message: expect.stringContaining("steps 1 to 2"),
    });
    expect(await desk.store.list({ limit: 9 })).toHaveLength(1);
  });

  test("where nobody knows whether an effect happened", async () => {
    const desk = await openDesk();
    await desk.hire();
    const tools = { add_note: [{ error: "timeout" }] };
    const runId = await desk.begin(caseOf([ADD_NOTE], { tools }));
    expect(await desk.ended(runId)).toMatchObject({ reason: "effect_unknown" });
    const refused = await refusalOf(desk.pawl("fork", runId, "--from", "1", "--json"));
    expect(refused).toMatchObject({
      code: "effect_unknown",
      message: expect.stringContaining("add_note of step 1"),
    });
    expect(await desk.store.list({ limit: 9 })).toHaveLength(1);
  });

  test("while an effect is under way, and no longer when its outcome is saved", async () => {
    const desk = await openDesk();
    const gate = createGate();
    await desk.hire((point, { step }) =>
      point === "before_act" && step === 2 ? gate.wait() : Promise.resolve(),
    );
    const runId = await desk.begin(caseOf([GET_ORDER, ADD_NOTE, ANSWER]));
    await gate.reached;
    const refused = await refusalOf(desk.pawl("fork", runId, "--from", "1", "--json"));
    expect(refused).toMatchObject({ code: "effect_unknown" });
    gate.open();
    await desk.ended(runId);
    const { id } = await fork(desk, runId, 3);
    expect(await desk.ended(id)).toMatchObject({ reason: "answered" });
  });

  test.each([
    [["fork", "no-such-run", "--from", "1"], 1, "PAWL_RUN_NOT_FOUND"],
    [["fork", "no-such-run"], 2, "PAWL_USAGE"],
    [["fork", "no-such-run", "--from", "0"], 2, "PAWL_USAGE"],
  ])("%j exits %i with %s", async (args, code, error) => {
    const desk = await openDesk();
    const ran = await desk.pawl(...args, "--json");
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: error } });
  });
});

test("a run forked from where it asked for an approval can still end its own way", async () => {
  const desk = await openDesk();
  await desk.hire();
  const runId = await desk.begin(caseOf([GET_ORDER, ASK_REFUND]));
  await desk.waiting(runId);
  const { id } = await fork(desk, runId, 2);
  await desk.waiting(id);
  await desk.pawl("approve", `${runId}-a1`, "--by", "ann");
  expect(await desk.ended(runId)).toMatchObject({ reason: "effect_confirmed" });
  expect((await desk.state(id)).status).toBe("waiting");
  expect((await desk.world(id)).effects).toEqual({});
});
