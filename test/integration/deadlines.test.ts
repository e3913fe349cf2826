/** A run whose time is over ends though nobody steps it, within a second of any worker being up. */
import { expect, onTestFinished, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { createBullmqStepWorker } from "../../src/queue/bullmq-step-worker.ts";
import type { NewEvent } from "../../src/step/work.ts";
import { endOverdue } from "../../src/step/deadlines.ts";
import { openCrew, type Crew } from "../support/crew.ts";
import { createGate, type Gate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, modelOf, scriptOf } from "../support/model.ts";
import { until } from "../support/until.ts";

const SECOND_MS = 1_000;
const TIME_MS = 400;
/** Locks that outlive the test: nothing but the deadline can take the step from a dead worker. */
const LONG_LOCKS = { lockMs: 60_000, stalledCheckMs: 60_000 };

/**
 * A worker that has claimed a step, and journaled what is said, and is never heard of again: it
 * keeps the job and its lock, and looks at no deadline.
 */
async function dead(crew: Crew, journaled: readonly NewEvent[]): Promise<Gate> {
  const gate = createGate();
  const worker = createBullmqStepWorker({
    redis: crew.redis,
    prefix: crew.keys.prefix,
    concurrency: 1,
    locks: LONG_LOCKS,
    now: Date.now,
    random: Math.random,
    onError: () => undefined,
    async process({ runId, step }) {
      const claim = await crew.store.claim(runId, step);
      if (claim.kind !== "claimed") throw new Error(`not claimed: ${claim.kind}`);
      const at = Date.now();
      await crew.store.journal(
        claim.fence,
        journaled.map((event): Event => ({ ...event, at, step })),
      );
      await gate.wait();
      return null;
    },
  });
  onTestFinished(async () => {
    gate.open();
    await worker.close(SECOND_MS);
  });
  await worker.ready();
  return gate;
}

const limits = { timeMs: TIME_MS };

const STARTED: NewEvent = { type: "started" };
const RESERVED: NewEvent = { type: "reserved", tokens: 5, moneyMicroUsd: 0 };

test.each([
  ["before it had begun anything", []],
  ["while it asked the model", [STARTED, RESERVED]],
] as const)("a run whose worker died %s ends without its job", async (_when, journaled) => {
  const crew = await openCrew(
    modelOf(() => new Promise(() => undefined)),
    { limits },
  );
  const { reached } = await dead(crew, journaled);
  const runId = await crew.accept();
  await reached;
  const startedAt = Date.now();
  await crew.hire({ locks: LONG_LOCKS });
  const { reason, endedAt } = await crew.ended(runId);
  expect(reason).toBe("time_exceeded");
  expect((endedAt ?? 0) - startedAt).toBeLessThan(2 * TIME_MS + SECOND_MS);
});

test("after a fleet that was down at the deadline the run ends within a second", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { limits });
  const { reached } = await dead(crew, [STARTED]);
  const runId = await crew.accept();
  await reached;
  const { createdAt } = await crew.state(runId);
  await until(() => Date.now() > createdAt + 3 * TIME_MS);
  const upAt = Date.now();
  await crew.hire({ locks: LONG_LOCKS });
  const { reason, endedAt } = await crew.ended(runId);
  expect(reason).toBe("time_exceeded");
  expect((endedAt ?? 0) - upAt).toBeLessThan(SECOND_MS);
});

test("a model that hangs for ever is aborted at the deadline, and the run ends", async () => {
  let aborted = false;
  const model = modelOf(
    (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(new Error("aborted"));
        });
      }),
  );
  const crew = await openCrew(model, { limits });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "time_exceeded" });
  expect(aborted).toBe(true);
});

test("a tool that hangs for ever is aborted at the deadline, and the run ends", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { limits });
  let aborted = false;
  crew.books.before = (_run, { signal }) =>
    new Promise(() => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
    });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "time_exceeded" });
  expect(aborted).toBe(true);
});

test("a run that waited in the queue longer than its time has all of it left", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { limits });
  const runId = await crew.accept();
  const { createdAt } = await crew.state(runId);
  await until(() => Date.now() > createdAt + 2 * TIME_MS);
  const steps: unknown[] = [];
  const deps = {
    store: crew.store,
    now: Date.now,
    step: (job: unknown) => Promise.resolve(void steps.push(job)),
    onError: () => undefined,
  };
  expect(await endOverdue(deps)).toBe(1);
  expect(steps).toEqual([]);
  expect(await endOverdue(deps)).toBe(0);
  await crew.hire();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
});
