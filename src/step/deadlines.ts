/**
 * Ends runs whose running time is over though no worker steps them: its worker died, or the whole
 * fleet was down. Every worker looks; each overdue run is given to one of them.
 */
import { deadlineOf } from "../core/budget.ts";
import { PawlError } from "../core/errors.ts";
import { parseEvent } from "../core/event.ts";
import { reduce } from "../core/reduce.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import type { RunStore, StoredRun } from "../store/run-store.ts";
import type { StepJob } from "../queue/step-queue.ts";

export interface DeadlineDeps {
  readonly store: Pick<RunStore, "overdue" | "setDeadline" | "read">;
  /** Runs a step outside its job: with no time left, all it can do is settle and end. */
  readonly step: (job: StepJob) => Promise<void>;
  readonly now: () => number;
  readonly onError: (job: StepJob, error: unknown) => void;
}

/** The worker that has the run in hand ends it by itself, at the deadline: it goes first. */
const HEAD_START_MS = 300;
/** How long a run that was given to one worker is hidden from the others. */
const LEASE_MS = 5_000;
/** More than this wait for the next look, which follows at once. */
const MOST_RUNS = 100;

/** One look; returns how many runs were overdue. */
export async function endOverdue(deps: DeadlineDeps): Promise<number> {
  const ids = await deps.store.overdue(deps.now() - HEAD_START_MS, LEASE_MS, MOST_RUNS);
  for (const runId of ids) {
    const run = await deps.store.read(runId);
    const job = { runId, step: run?.step ?? 0 };
    try {
      const at = run === null ? null : deadlineOfRun(run, deps.now());
      if (at === null || at > deps.now()) await deps.store.setDeadline(runId, at);
      else await deps.step(job);
    } catch (error) {
      // Its lease ends; whoever looks then tries again.
      deps.onError(job, error);
    }
  }
  return ids.length;
}

/** Null: nothing to end (parked, ended, or not to be read, which its own step will find out). */
function deadlineOfRun(run: StoredRun, now: number): number | null {
  const state = stateOf(run);
  if (state === null) return null;
  const { timeMs } = state.limits;
  // Its time begins with its first step, so without one it has all of it from now at the earliest.
  if (state.status === "queued" && timeMs !== null) return (run.since ?? now) + timeMs;
  return deadlineOf(state);
}

/** With what its step has on disk: a run in its first step is running only by its journal. */
function stateOf(run: StoredRun): RunState | null {
  if (run.parked) return null;
  try {
    return run.journal.map(parseEvent).reduce<RunState>(reduce, parseRunState(run.json));
  } catch (error) {
    if (error instanceof PawlError) return null;
    throw error;
  }
}

/** How often each worker looks: one command. */
const LOOK_EVERY_MS = 250;

/** Looks until closed; `close` waits for a look that is under way. */
export function watchDeadlines(deps: DeadlineDeps): { readonly close: () => Promise<void> } {
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  let looking = Promise.resolve();
  const look = async (): Promise<void> => {
    try {
      while ((await endOverdue(deps)) === MOST_RUNS && !isClosed);
    } catch (error) {
      deps.onError({ runId: "-", step: 0 }, error);
    }
    if (isClosed) return;
    timer = setTimeout(start, LOOK_EVERY_MS);
    timer.unref();
  };
  const start = (): void => void (looking = look());
  start();
  return {
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await looking;
    },
  };
}
