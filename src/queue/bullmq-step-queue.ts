/**
 * The step queue on BullMQ: the producer's side, and what repairs need. One queue, `steps`, under
 * the prefix' hash tag. Nothing about a run is kept in a job: its data is the run's id and the
 * step.
 */
import { Queue, type IQueueBackend } from "bullmq";
import type { Redis } from "ioredis";
import { enqueueLua } from "./bullmq-enqueue-script.ts";
import { jobIdOf, type JobPresence, type StepJob, type StepQueue } from "./step-queue.ts";

export const QUEUE_NAME = "steps";
const JOB_NAME = "step";

const TIMER_MARGIN_MS = 5;

/** Late rather than early: a timer that fires before its time finds nothing to do. */
export function timerDelay(ms: number): number {
  return Math.max(1, Math.ceil(ms) + TIMER_MARGIN_MS);
}

/** Only infrastructure errors throw, so a step is tried until its Redis is well again. */
const JOB_OPTIONS = {
  attempts: 1_000,
  backoff: { type: "custom" },
  removeOnComplete: true,
  removeOnFail: true,
} as const;

/** A queue has no such options of its own, but its stalled check, run by `takeBack`, reads them. */
const STALLED_CHECK = { maxStalledCount: 1_000_000, stalledInterval: 2_000 };

/** BullMQ's public seam for adding on somebody else's connection; it hands out KEYS and ARGV. */
interface AddingBackend extends IQueueBackend {
  addJobToTransaction(client: unknown, job: unknown, jobId: string): Promise<unknown>;
}

export interface BullmqStepQueue extends StepQueue {
  readonly enqueuer: {
    readonly lua: string | null;
    readonly keys: readonly string[];
    readonly argv: (runId: string, step: number) => Promise<readonly (string | Buffer)[]>;
    readonly add: (runId: string, step: number) => Promise<void>;
    readonly wake: (runId: string, step: number) => Promise<void>;
  };
}

export interface BullmqStepQueueDeps {
  readonly redis: Redis;
  readonly prefix: string;
  readonly now: () => number;
}

export async function createBullmqStepQueue(deps: BullmqStepQueueDeps): Promise<BullmqStepQueue> {
  const { redis, prefix, now } = deps;
  const options = { connection: redis, prefix, ...STALLED_CHECK };
  const queue = new Queue<StepJob>(QUEUE_NAME, options);
  // Without a listener an ioredis error event would end the process; the caller sees its own
  // failure.
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  const keyOf = (name: string): string => `${prefix}:${QUEUE_NAME}:${name}`;
  const add = async (runId: string, step: number): Promise<void> => {
    await queue.add(JOB_NAME, { runId, step }, { ...JOB_OPTIONS, jobId: jobIdOf({ runId, step }) });
  };
  const addTimer = async (runId: string, step: number, delayMs: number): Promise<void> => {
    const jobId = jobIdOf({ runId, step });
    await queue.add(
      JOB_NAME,
      { runId, step },
      { ...JOB_OPTIONS, jobId, delay: timerDelay(delayMs) },
    );
  };
  const wake = async (runId: string, step: number): Promise<void> => {
    await add(runId, step);
    const job = await queue.getJob(jobIdOf({ runId, step }));
    if (job !== undefined && (await job.isDelayed())) {
      // Its own time may have come in between: then it needs no waking.
      await job.promote().catch(() => undefined);
    }
  };
  const commandFor = async (runId: string, step: number): Promise<readonly (string | Buffer)[]> => {
    const backend = queue.getBackend() as unknown as AddingBackend;
    let command: readonly (string | Buffer)[] = [];
    const recorder = {
      runCommand: (_name: string, args: readonly (string | Buffer)[]) => {
        command = args;
        return Promise.resolve(1);
      },
    };
    const data = JSON.stringify({ runId, step });
    const job = { name: JOB_NAME, data, opts: JOB_OPTIONS, timestamp: now() };
    await backend.addJobToTransaction(recorder, job, jobIdOf({ runId, step }));
    return command;
  };
  const keys = (await commandFor("keys", 1)).slice(0, 9).map(String);

  return {
    enqueuer: {
      lua: enqueueLua(),
      keys,
      argv: async (runId, step) => (await commandFor(runId, step)).slice(9),
      add,
      wake,
    },
    add,
    addTimer,
    wake,
    presence: (runId, step) => presenceOf(queue, redis, keyOf, jobIdOf({ runId, step })),
    async remove(runId, step) {
      const id = jobIdOf({ runId, step });
      // An orphan stands in no list, so BullMQ's own remove does not find all of it.
      await queue.remove(id);
      await redis.del(keyOf(id), keyOf(`${id}:lock`));
    },
    async holder(runId, step) {
      const token = await redis.get(keyOf(`${jobIdOf({ runId, step })}:lock`));
      return token?.split(":")[0] ?? null;
    },
    takeBack: (workerId) => takeBack(queue, redis, keyOf, workerId),
    close: () => queue.close(),
  };
}

async function presenceOf(
  queue: Queue<StepJob>,
  redis: Redis,
  keyOf: (name: string) => string,
  id: string,
): Promise<JobPresence> {
  if ((await redis.exists(keyOf(id))) === 0) return "absent";
  const state = await queue.getJobState(id);
  if (state === "delayed") return "delayed";
  if (state !== "unknown") return "present";
  // It may have finished between the two questions.
  return (await redis.exists(keyOf(id))) === 0 ? "absent" : "orphan";
}

async function takeBack(
  queue: Queue<StepJob>,
  redis: Redis,
  keyOf: (name: string) => string,
  workerId: string,
): Promise<number> {
  const active = await redis.lrange(keyOf("active"), 0, -1);
  if (active.length === 0) return 0;
  const locks = await redis.mget(active.map((id) => keyOf(`${id}:lock`)));
  const held = active.filter((_id, i) => locks[i]?.startsWith(`${workerId}:`) === true);
  if (held.length === 0) return 0;
  await redis.del(held.map((id) => keyOf(`${id}:lock`)));
  // The check takes back only what the pass before has marked, and not twice in an interval.
  await redis.sadd(keyOf("stalled"), ...held);
  await redis.del(keyOf("stalled-check"));
  const backend = queue.getBackend() as unknown as { moveStalledJobsToWait(): Promise<unknown> };
  await backend.moveStalledJobsToWait();
  return held.length;
}
