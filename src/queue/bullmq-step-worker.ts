/**
 * The step queue on BullMQ: the consumer's side. The lock is the second line of defence (the fence
 * of the store is the first), so a job whose lock is lost is aborted and never runs twice in one
 * process.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DelayedError, Worker, type Job } from "bullmq";
import type { Redis } from "ioredis";
import { backoffMs } from "./backoff.ts";
import { QUEUE_NAME, timerDelay } from "./bullmq-step-queue.ts";
import {
  DEFAULT_LOCKS,
  jobIdOf,
  type LockTimes,
  type StepJob,
  type StepWorker,
} from "./step-queue.ts";

export interface BullmqStepWorkerDeps {
  readonly redis: Redis;
  readonly prefix: string;
  readonly concurrency: number;
  readonly locks?: LockTimes;
  /** ms since epoch. */
  readonly now: () => number;
  readonly random: () => number;
  /**
   * Returns null when the job is done, or after how many ms it must come again. Throws only for
   * infrastructure faults; the job is then tried again later.
   */
  readonly process: (job: StepJob, signal: AbortSignal) => Promise<number | null>;
  /** Called when a job has been put off and can be woken. */
  readonly onDelayed?: (job: StepJob) => Promise<void>;
  readonly onError: (error: Error) => void;
}

/**
 * Redis refuses writes for a while: a worker that goes on fetching spins thousands of times a
 * second.
 */
const REDIS_REFUSES = /OOM|READONLY|MISCONF|LOADING|CLUSTERDOWN/;
const COOL_DOWN_MS = 500;

export function createBullmqStepWorker(deps: BullmqStepWorkerDeps): StepWorker {
  const locks = deps.locks ?? DEFAULT_LOCKS;
  const running = new Map<string, Promise<number | null>>();
  const worker = new Worker<StepJob>(
    QUEUE_NAME,
    // Exactly three parameters: BullMQ hands out no abort signal otherwise.
    async (job: Job<StepJob>, token: string | undefined, signal: AbortSignal | undefined) => {
      const id = jobIdOf(job.data);
      // Our own stalled job came back while its first run still goes: let that one end before.
      await running.get(id)?.catch(() => undefined);
      const work = deps.process(job.data, signal ?? new AbortController().signal);
      running.set(id, work);
      try {
        const delayMs = await work;
        if (delayMs === null) return;
        await job.moveToDelayed(deps.now() + timerDelay(delayMs), token);
        await deps.onDelayed?.(job.data);
        throw new DelayedError();
      } catch (error) {
        // BullMQ crashes on a thrown value that is not an error.
        throw error instanceof Error ? error : new Error("the step threw a value that is no error");
      } finally {
        if (running.get(id) === work) running.delete(id);
      }
    },
    {
      connection: deps.redis,
      prefix: deps.prefix,
      concurrency: deps.concurrency,
      lockDuration: locks.lockMs,
      stalledInterval: locks.stalledCheckMs,
      // Crash policy lives in the run's own journal, not in BullMQ's counter.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      settings: { backoffStrategy: (attempt: number) => backoffMs(attempt, deps.random()) },
    },
  );
  worker.on("lockRenewalFailed", (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, "lock lost");
  });
  let isCooling = false;
  worker.on("error", (error: Error) => {
    deps.onError(error);
    if (isCooling || !REDIS_REFUSES.test(error.message)) return;
    isCooling = true;
    void worker
      .pause(true)
      .then(() => pause(COOL_DOWN_MS))
      .then(() => worker.resume())
      .finally(() => {
        isCooling = false;
      })
      .catch(deps.onError);
  });
  return {
    id: worker.id,
    ready: async () => {
      await worker.waitUntilReady();
    },
    close: (graceMs) => closeWithin(worker, graceMs),
  };
}

/** After the grace the steps in hand are aborted, and have this long to hand themselves back. */
const HAND_BACK_MS = 1_000;

async function closeWithin(worker: Worker<StepJob>, graceMs: number): Promise<void> {
  const closed = worker.close();
  if (await isDoneWithin(closed, graceMs)) return;
  worker.cancelAllJobs("the worker stops");
  if (!(await isDoneWithin(closed, HAND_BACK_MS))) await worker.close(true);
}

async function isDoneWithin(work: Promise<void>, ms: number): Promise<boolean> {
  const patience = new AbortController();
  const late = pause(ms, false, { signal: patience.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    patience.abort();
  }
}
