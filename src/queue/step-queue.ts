/**
 * The contract of the step queue: one job a step, id `<run>.<step>`, so that adding it twice is
 * adding it once. Jobs are removed when they finish: a used id would block the step's retry.
 */

export interface StepJob {
  readonly runId: string;
  readonly step: number;
}

/**
 * present: waiting or active. delayed: a timer, or a retry that is backing off. orphan: a job hash
 * that stands in no list and blocks its id.
 */
export type JobPresence = "present" | "delayed" | "absent" | "orphan";

export interface StepQueue {
  readonly add: (runId: string, step: number) => Promise<void>;
  /** The same job after a delay in ms: a timer. One that is there already stays as it is. */
  readonly addTimer: (runId: string, step: number, delayMs: number) => Promise<void>;
  /** Adds the job, or lets a timer of the same id run now. */
  readonly wake: (runId: string, step: number) => Promise<void>;
  readonly presence: (runId: string, step: number) => Promise<JobPresence>;
  readonly remove: (runId: string, step: number) => Promise<void>;
  /** The id of the worker that has the job of a step in hand; null: nobody has. */
  readonly holder: (runId: string, step: number) => Promise<string | null>;
  /**
   * Takes back what a dead worker process held, without waiting for its locks to expire.
   * Only for a process known to be dead. Returns how many jobs went back.
   */
  readonly takeBack: (workerId: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

export interface StepWorker {
  /** Identifies this process' locks: what a supervisor needs to take its jobs back. */
  readonly id: string;
  readonly ready: () => Promise<void>;
  /**
   * Stops fetching and waits for the steps in hand, at most so long; then their jobs are left to
   * others.
   */
  readonly close: (graceMs: number) => Promise<void>;
}

/**
 * Lock settings in ms, the same in every process: one odd worker slows the whole queue's recovery.
 */
export interface LockTimes {
  readonly lockMs: number;
  readonly stalledCheckMs: number;
}

/** The interval is at most a quarter of the lock; a lock survives one long event-loop block. */
export const DEFAULT_LOCKS: LockTimes = { lockMs: 10_000, stalledCheckMs: 2_000 };

export function jobIdOf(job: StepJob): string {
  return `${job.runId}.${job.step}`;
}
