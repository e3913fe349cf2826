/** Real workers on one Redis: what a run goes through, and what several workers do to one step. */
import { describe, expect, test } from "vitest";
import { replay } from "../../src/core/reduce.ts";
import { openCrew, type Crew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, reply, scriptOf } from "../support/model.ts";
import { until } from "../support/until.ts";

/** Short enough to be lost within a test, long enough for a step. */
const SHORT_LOCKS = { lockMs: 600, stalledCheckMs: 150 };
const ADD_NOTE = reply(["add_note", { orderId: "A-1", value: "hello" }]);

async function setup(replies = [GET_ORDER, ADD_NOTE, ANSWER]) {
  const model = scriptOf(replies);
  return { model, ...(await openCrew(model)) };
}

/** Each step is told once in the journal, and the journal gives the snapshot. */
async function expectOneStory(crew: Crew, runId: string): Promise<void> {
  const events = await crew.events(runId);
  const decided = events.filter((event) => event.type === "decided").map((event) => event.step);
  expect(decided).toEqual([...new Set(decided)]);
  expect(replay(events)).toEqual(await crew.state(runId));
}

test("a ticket goes through its steps to an answer, and nothing is left in the queue", async () => {
  const crew = await setup();
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    status: "completed",
    reason: "answered",
    spent: { steps: 3 },
    resumes: 0,
    outward: [{ kind: "answer", text: "Done." }],
  });
  expect(crew.books.effects.size).toBe(1);
  expect(crew.model.requests).toHaveLength(3);
  await expectOneStory(crew, runId);
  await until(async () => (await crew.redis.keys(crew.queueKey(`${runId}*`))).length === 0);
  expect(crew.faults).toEqual([]);
});

test("many runs at once all end, each with its own story", async () => {
  const crew = await setup();
  await crew.hire();
  await crew.hire();
  const runIds = await Promise.all(Array.from({ length: 20 }, (_, i) => crew.accept(`T-${i}`)));
  for (const runId of runIds) {
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
    await expectOneStory(crew, runId);
  }
  // One effect a run: the key is the run's and the call's.
  expect(crew.books.effects.size).toBe(20);
});

describe("two workers on one step", () => {
  test("one saves it, the other's work is dropped", async () => {
    const crew = await setup();
    const gate = createGate();
    const slow = await crew.hire({
      concurrency: 1,
      reach: (point) => (point === "before_save" ? gate.wait() : Promise.resolve()),
    });
    const runId = await crew.accept();
    await gate.reached;
    // Taken for dead while it only hangs: another worker gets its job.
    expect(await crew.queue.takeBack(slow.id)).toBe(1);
    await crew.hire();
    const ended = await crew.ended(runId);
    gate.open();
    await slow.close(1_000);
    expect(await crew.state(runId)).toEqual(ended);
    expect(ended).toMatchObject({ reason: "answered", spent: { steps: 3 }, resumes: 1 });
    expect(crew.books.effects.size).toBe(1);
    await expectOneStory(crew, runId);
  });

  test("a decision that one journaled is not paid for by the other", async () => {
    const crew = await setup();
    const gate = createGate();
    const slow = await crew.hire({
      concurrency: 1,
      reach: (point) => (point === "after_journal" ? gate.wait() : Promise.resolve()),
    });
    const runId = await crew.accept();
    await gate.reached;
    await crew.queue.takeBack(slow.id);
    await crew.hire();
    await crew.ended(runId);
    gate.open();
    await slow.close(1_000);
    expect(crew.model.requests.map((request) => request.turn)).toEqual([0, 1, 2]);
  });

  test("both at the start of one step tell one story", async () => {
    const crew = await setup();
    const [first, second] = [createGate(), createGate()];
    const slow = await crew.hire({
      concurrency: 1,
      reach: (point, job) =>
        point === "after_load" && job.step === 1 ? first.wait() : Promise.resolve(),
    });
    const runId = await crew.accept();
    await first.reached;
    await crew.queue.takeBack(slow.id);
    await crew.hire({
      reach: (point, job) =>
        point === "before_save" && job.step === 1 ? second.wait() : Promise.resolve(),
    });
    await second.reached;
    // The one that was fenced goes on first and must not undo what the other is about to save.
    first.open();
    second.open();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered", spent: { steps: 3 } });
    expect(crew.books.effects.size).toBe(1);
    await expectOneStory(crew, runId);
  });
});

test("a frozen worker that wakes after its lock was lost changes nothing", async () => {
  const crew = await setup([ADD_NOTE, ANSWER]);
  const gate = createGate();
  const frozen = await crew.hire({
    concurrency: 1,
    locks: SHORT_LOCKS,
    reach: (point) => (point === "after_act" ? gate.wait() : Promise.resolve()),
  });
  const runId = await crew.accept();
  await gate.reached;
  // As when the process stood still longer than its lock lives; the stalled check finds the job.
  await crew.redis.del(crew.queueKey(`${runId}.1:lock`));
  await crew.hire({ locks: SHORT_LOCKS });
  const ended = await crew.ended(runId);
  const before = await crew.events(runId);
  gate.open();
  await frozen.close(1_000);
  expect(await crew.state(runId)).toEqual(ended);
  expect(await crew.events(runId)).toEqual(before);
  expect(ended).toMatchObject({ reason: "answered", resumes: 1, spent: { steps: 2 } });
  expect(crew.books.effects.size).toBe(1);
  // The second worker asked the books by the effect's key and did not call the handler again.
  expect(crew.books.handlerRuns).toHaveLength(1);
});

test.each([
  "after_load",
  "after_reserve",
  "after_decide",
  "after_journal",
  "before_act",
  "after_act",
  "before_save",
  "after_save",
  "after_enqueue",
] as const)("a worker that dies at %s loses nothing and does nothing twice", async (dying) => {
  const crew = await setup([ADD_NOTE, ANSWER]);
  let deaths = 0;
  await crew.hire({
    reach(point, job) {
      if (point !== dying || job.step !== 1 || deaths > 0) return Promise.resolve();
      deaths += 1;
      return Promise.reject(new Error(`died at ${point}`));
    },
  });
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    reason: "answered",
    spent: { steps: 2 },
    outward: [{ kind: "answer" }],
  });
  expect(deaths).toBe(1);
  expect(crew.books.effects.size).toBe(1);
  await expectOneStory(crew, runId);
});
