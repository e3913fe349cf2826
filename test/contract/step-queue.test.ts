/** The suite of the StepQueue contract, on BullMQ. */
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBullmqStepWorker } from "../../src/queue/bullmq-step-worker.ts";
import type { LockTimes, StepJob } from "../../src/queue/step-queue.ts";
import { openBackbone } from "../support/backbone.ts";
import { createGate } from "../support/gate.ts";
import { until } from "../support/until.ts";

const GRACE_MS = 1_000;

async function setup() {
  const backbone = await openBackbone();
  const { queue, redis, keys, queueKey } = backbone;
  const runId = randomUUID();

  const work = async (process: (job: StepJob) => Promise<number | void>, locks?: LockTimes) => {
    const worker = createBullmqStepWorker({
      redis,
      prefix: keys.prefix,
      concurrency: 5,
      ...(locks === undefined ? {} : { locks }),
      now: Date.now,
      random: () => 0,
      process: async (job) => (await process(job)) ?? null,
      onError: () => undefined,
    });
    onTestFinished(() => worker.close(GRACE_MS));
    await worker.ready();
    return worker;
  };

  const waitingJobs = () => redis.lrange(queueKey("wait"), 0, -1);
  const isGone = (step: number) => async () => (await queue.presence(runId, step)) === "absent";
  return { ...backbone, runId, work, waitingJobs, isGone };
}

test("one step added twice is one job", async () => {
  const { queue, runId, waitingJobs } = await setup();
  await queue.add(runId, 1);
  await queue.add(runId, 1);
  expect(await waitingJobs()).toEqual([`${runId}.1`]);
});

test("two steps of a run are two jobs", async () => {
  const { queue, runId, waitingJobs } = await setup();
  await queue.add(runId, 1);
  await queue.add(runId, 2);
  expect(await waitingJobs()).toHaveLength(2);
});

test("a job carries its run and step and nothing else", async () => {
  const { queue, runId, work } = await setup();
  const seen: StepJob[] = [];
  const gate = createGate();
  await work(async (job) => {
    seen.push(job);
    await gate.wait();
  });
  await queue.add(runId, 7);
  await gate.reached;
  expect(seen).toEqual([{ runId, step: 7 }]);
  gate.open();
});

test("an id that was used can be added again after its job finished", async () => {
  const { queue, runId, work, isGone } = await setup();
  const seen: number[] = [];
  await work((job) => {
    seen.push(job.step);
    return Promise.resolve();
  });
  await queue.add(runId, 1);
  await until(isGone(1));
  await queue.add(runId, 1);
  await until(() => Promise.resolve(seen.length === 2));
  await until(isGone(1));
  expect(seen).toEqual([1, 1]);
});

test("a job that failed is tried again", async () => {
  const { queue, runId, work, isGone } = await setup();
  let tries = 0;
  await work(() => {
    tries += 1;
    return tries < 3 ? Promise.reject(new Error("redis is away")) : Promise.resolve();
  });
  await queue.add(runId, 1);
  await until(isGone(1));
  expect(tries).toBe(3);
});

test("a thrown value that is no error fails the job like one", async () => {
  const { queue, runId, work, isGone } = await setup();
  let tries = 0;
  await work(() => {
    tries += 1;
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handlers throw anything
    return tries < 2 ? Promise.reject(undefined) : Promise.resolve();
  });
  await queue.add(runId, 1);
  await until(isGone(1));
  expect(tries).toBe(2);
});

test("a job is absent before, present while it waits and while it runs, absent after", async () => {
  const { queue, runId, work, isGone } = await setup();
  expect(await queue.presence(runId, 1)).toBe("absent");
  await queue.add(runId, 1);
  expect(await queue.presence(runId, 1)).toBe("present");
  const gate = createGate();
  await work(() => gate.wait());
  await gate.reached;
  expect(await queue.presence(runId, 1)).toBe("present");
  gate.open();
  await until(isGone(1));
});

test("a job hash that stands in no list is an orphan, blocks its id, and can be removed", async () => {
  const { queue, runId, redis, queueKey, waitingJobs } = await setup();
  await queue.add(runId, 1);
  await redis.del(queueKey("wait"));
  expect(await queue.presence(runId, 1)).toBe("orphan");
  await queue.add(runId, 1);
  expect(await waitingJobs()).toEqual([]);
  await queue.remove(runId, 1);
  expect(await queue.presence(runId, 1)).toBe("absent");
  await queue.add(runId, 1);
  expect(await waitingJobs()).toEqual([`${runId}.1`]);
});

describe("a timer", () => {
  const LONG_MS = 3_600_000;

  test("waits for its time and is one job with the step's own", async () => {
    const { queue, runId, waitingJobs } = await setup();
    await queue.addTimer(runId, 1, LONG_MS);
    expect(await queue.presence(runId, 1)).toBe("delayed");
    await queue.add(runId, 1);
    expect(await waitingJobs()).toEqual([]);
    await queue.wake(runId, 1);
    expect(await queue.presence(runId, 1)).toBe("present");
    expect(await waitingJobs()).toEqual([`${runId}.1`]);
  });

  test("does not put off a job that is there already", async () => {
    const { queue, runId } = await setup();
    await queue.add(runId, 1);
    await queue.addTimer(runId, 1, LONG_MS);
    expect(await queue.presence(runId, 1)).toBe("present");
  });

  test("whose time has come runs", async () => {
    const { queue, runId, work, isGone } = await setup();
    await work(() => Promise.resolve());
    await queue.addTimer(runId, 1, 0);
    await until(isGone(1));
    expect(await queue.presence(runId, 1)).toBe("absent");
  });

  test("can be removed", async () => {
    const { queue, runId } = await setup();
    await queue.addTimer(runId, 1, LONG_MS);
    await queue.remove(runId, 1);
    expect(await queue.presence(runId, 1)).toBe("absent");
  });
});

test("waking a step without a job adds it", async () => {
  const { queue, runId, waitingJobs } = await setup();
  await queue.wake(runId, 1);
  expect(await waitingJobs()).toEqual([`${runId}.1`]);
});

test("a job that is not there can be removed", async () => {
  const { queue, runId } = await setup();
  await expect(queue.remove(runId, 1)).resolves.toBeUndefined();
});

test("what a dead worker held is taken back at once, what others hold is not", async () => {
  const { queue, runId, redis, queueKey, work, waitingJobs } = await setup();
  const gate = createGate();
  const worker = await work(() => gate.wait());
  await queue.add(runId, 1);
  await gate.reached;
  expect(await queue.takeBack("nobody")).toBe(0);
  expect(await waitingJobs()).toEqual([]);
  // As the dead one: it fetches nothing more, and its lock still has its full time to live.
  const closing = worker.close(0);
  expect(await queue.takeBack(worker.id)).toBe(1);
  expect(await redis.lrange(queueKey("active"), 0, -1)).toEqual([]);
  expect(await waitingJobs()).toEqual([`${runId}.1`]);
  gate.open();
  await closing;
});

test("nothing is taken back where nothing runs", async () => {
  const { queue } = await setup();
  expect(await queue.takeBack("nobody")).toBe(0);
});
