/**
 * The sweeper: finds unfinished runs that no job will wake and gives them one. A repair is always
 * the same act: make sure that the job of the run's current step is there. Safe to run anywhere,
 * twice.
 */
import { parseRunState } from "../core/run-state.ts";
import { PawlError } from "../core/errors.ts";
import type { StepQueue } from "../queue/step-queue.ts";
import type { RunStore, StoredRun } from "../store/run-store.ts";

export interface SweepDeps {
  readonly store: Pick<RunStore, "idle" | "read" | "looked">;
  readonly queue: Pick<StepQueue, "presence" | "remove" | "wake">;
  readonly now: () => number;
}

export interface SweepReport {
  readonly looked: number;
  /** Runs without a job, job hashes that stood in no list, runs with unheard mail. */
  readonly repaired: readonly {
    readonly runId: string;
    readonly step: number;
    readonly kind: RepairKind;
  }[];
}

type RepairKind = "run_without_job" | "orphan_job" | "unheard_inbox" | "overdue_timer";

/** One sweep looks at this many runs at most, oldest first; the next goes on. */
const MOST_RUNS = 1_000;

/** Takes how long (ms) a run may rest before it is looked at: more than a step's lock lives. */
export async function sweep(deps: SweepDeps, restMs: number): Promise<SweepReport> {
  const ids = await deps.store.idle(deps.now() - restMs, MOST_RUNS);
  const repaired: SweepReport["repaired"][number][] = [];
  for (const runId of ids) {
    const run = await deps.store.read(runId);
    if (run === null) continue;
    const kind = await repair(deps, run);
    await deps.store.looked(runId);
    if (kind !== null) repaired.push({ runId, step: run.step, kind });
  }
  return { looked: ids.length, repaired };
}

async function repair(deps: SweepDeps, run: StoredRun): Promise<RepairKind | null> {
  const wanted = wants(deps, run);
  if (wanted === null) return null;
  const presence = await deps.queue.presence(run.id, run.step);
  if (presence === "present") return null;
  // A retry that is backing off will come; a timer is no help to mail that is there already.
  if (presence === "delayed" && wanted === "run_without_job") return null;
  if (presence === "orphan") await deps.queue.remove(run.id, run.step);
  await deps.queue.wake(run.id, run.step);
  return presence === "orphan" ? "orphan_job" : wanted;
}

/** Why this run needs a job now, or null: parked with nobody waiting for it. */
function wants(deps: SweepDeps, run: StoredRun): RepairKind | null {
  try {
    const { status, waiting } = parseRunState(run.json);
    if (status !== "waiting") return "run_without_job";
    if (run.inbox > 0) return "unheard_inbox";
    const until = waiting?.until ?? null;
    return until !== null && until <= deps.now() ? "overdue_timer" : null;
  } catch (error) {
    // Its next step will find out the same and park it with the reason.
    if (error instanceof PawlError) return "run_without_job";
    throw error;
  }
}
