/**
 * The end of a step: what is left unexecuted is said, the step is counted off, a stop becomes an
 * end, and one fenced write makes all of it true together with the next job.
 */
import { exhausted } from "../core/budget.ts";
import { outcomeOf, type HandoffText } from "../core/report.ts";
import type { Dump, Outcome } from "../core/outcome.ts";
import type { RunState } from "../core/run-state.ts";
import type { Reason, Stop, TerminalStatus } from "../core/stop.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/**
 * again: a newer message was first, or a permission must be asked anew; load again and drop the
 * work. lost: another worker has claimed the step since; it goes on, this one must not.
 */
export type Finished = "saved" | "again" | "lost" | Delay;

/** Parked for a retry: the same job comes again after so many ms, and no worker is held. */
export interface Delay {
  readonly delayMs: number;
}

export interface Ending {
  readonly stop: Stop;
  readonly text?: HandoffText;
  readonly earlierStep?: number | undefined;
  readonly dump?: Dump;
  /** The turn's own call was not looked at. */
  readonly isUnruled?: boolean;
}

/** Ends the step; the run goes on unless a stop was found or a limit forbids it. */
export async function finish(
  deps: StepDeps,
  work: Work,
  found: Stop | null = null,
  options: { readonly isOutward?: boolean } = {},
): Promise<Finished> {
  const hasDecided = work.state.turn !== null;
  const limit =
    hasDecided && work.state.waiting === null ? exhausted(work.state, deps.now()) : null;
  // A stop found by the check of the reply ends the run there; limits are looked at only otherwise.
  const last = found ?? limit;
  if (last !== null) return end(deps, work, { stop: last });
  record(work, deps.now(), { type: "step_ended", ms: deps.now() - work.startedAt });
  return save(deps, work, options.isOutward === true);
}

/** Ends a job that carried something out without a decision of the model: no counted step. */
export async function goOn(deps: StepDeps, work: Work): Promise<Finished> {
  const limit = exhausted(work.state, deps.now());
  if (limit !== null) return end(deps, work, { stop: limit });
  record(work, deps.now(), { type: "step_ended", ms: deps.now() - work.startedAt });
  return save(deps, work, false);
}

/**
 * Parks the run in the middle of its step until the model may be asked again: no step is counted,
 * and the step's own job goes on with it. `gatedMs` of the wait are due to other runs.
 */
export async function park(
  deps: StepDeps,
  work: Work,
  ms: number,
  gatedMs: number,
): Promise<Finished> {
  const at = deps.now();
  const gated = gatedMs === 0 ? {} : { gatedMs };
  record(work, at, { type: "parked", for: "retry", until: at + ms, ...gated });
  return stayParked(deps, work);
}

/** Saves what was heard meanwhile, and leaves the wait for a retry as it is. */
export async function stayParked(deps: StepDeps, work: Work): Promise<Finished> {
  // Nothing new: the claim is given back, since a job that comes too early is no crash.
  if (work.events.length === 0) await deps.store.release(work.fence, "handed_back");
  else {
    const written = await write(deps, work, false);
    if (written !== "saved") return written;
  }
  return { delayMs: delayOf(deps, work.state, work.fastForward === true) ?? 0 };
}

/** Ends the run before anything was ruled on a decision that may stand: none of it was executed. */
export function finishWithStop(deps: StepDeps, work: Work, found: Stop): Promise<Finished> {
  return end(deps, work, { stop: found, isUnruled: true });
}

/** Ends the run with a handoff or a stop and its report. */
export async function end(deps: StepDeps, work: Work, ending: Ending): Promise<Finished> {
  const { stop: found } = ending;
  const report = outcomeOf(work.state, found, work.agent, ending.text);
  const { dump } = ending;
  const isDumped = report.kind === "stop" && dump !== undefined;
  const outcome = isDumped ? { ...report, dump } : report;
  const { earlierStep = null, isUnruled = false } = ending;
  return endWith(deps, work, found, { outcome, earlierStep, isUnruled });
}

export async function endWith(
  deps: StepDeps,
  work: Work,
  found: { readonly status: TerminalStatus; readonly reason: Reason; readonly detail: string },
  last: {
    readonly outcome: Outcome;
    readonly earlierStep?: number | null;
    readonly isUnruled?: boolean;
  },
): Promise<Finished> {
  const { outcome, earlierStep = null, isUnruled = false } = last;
  const isWhole = isUnruled || found.reason === "ambiguous_terminal_calls";
  const left = [...(work.state.turn?.calls.slice(isWhole ? 0 : 1) ?? []), ...work.state.kept];
  if (left.length > 0) {
    const why = `the run ended: ${found.status}/${found.reason}`;
    record(work, deps.now(), { type: "not_executed", calls: [...left], why });
  }
  const { status, reason, detail } = found;
  record(work, deps.now(), { type: "ended", status, reason, detail, earlierStep, outcome });
  const leaves = work.events.some((event) => event.type === "sent");
  return save(deps, work, leaves);
}

async function save(deps: StepDeps, work: Work, isOutward: boolean): Promise<Finished> {
  const written = await write(deps, work, isOutward);
  if (written !== "saved") return written;
  await setTimer(deps, work.state, work.fastForward === true);
  await deps.reach?.("after_enqueue", work.job);
  return "saved";
}

async function write(
  deps: StepDeps,
  work: Work,
  isOutward: boolean,
): Promise<"saved" | "again" | "lost"> {
  await deps.reach?.("before_save", work.job);
  const written = await deps.store.save(work.fence, {
    state: work.state,
    events: work.events,
    heard: work.heard,
    onlyIfHeardAll: isOutward,
    previousStatus: work.savedStatus,
  });
  if (written !== "applied") return written === "conflict" ? "lost" : "again";
  await deps.reach?.("after_save", work.job);
  deps.log.step(work.state, work.events);
  return "saved";
}

/** The job that ends a wait in vain. A crash before it is mended by the redelivered step's job. */
export async function setTimer(
  deps: Pick<StepDeps, "addTimer" | "now">,
  state: RunState,
  fastForward: boolean,
): Promise<void> {
  const delayMs = delayOf(deps, state, fastForward);
  if (delayMs !== null) await deps.addTimer(state.id, state.step, delayMs);
}

/** ms until the wait is over; null: it has no end of its own. */
function delayOf(
  deps: Pick<StepDeps, "now">,
  state: RunState,
  fastForward: boolean,
): number | null {
  const until = state.waiting?.until ?? null;
  if (until === null) return null;
  return fastForward ? 0 : Math.max(0, until - deps.now());
}
