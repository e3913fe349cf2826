/**
 * One step, readable top to bottom: load → observe → next → decide → check → permit → act → record
 * → verify → save and enqueue. Whatever dies, the same job comes again and goes on at the first
 * thing that is not on disk. A step makes exactly one action.
 */
import { PawlError, unreachable } from "../core/errors.ts";
import { parseEvent, parseHappening } from "../core/event.ts";
import { next, type Plan } from "../core/next.ts";
import { reduce } from "../core/reduce.ts";
import { parseRunState } from "../core/run-state.ts";
import { isTerminal } from "../core/stop.ts";
import type { Claim } from "../store/run-store.ts";
import type { StepJob } from "../queue/step-queue.ts";
import { askModel } from "./ask-model.ts";
import { brokenStep, endBroken } from "./broken-step.ts";
import { carryOut } from "./carry-out.ts";
import { watchInterrupt } from "./interrupt.ts";
import { finish, finishWithStop, setTimer, stayParked, type Finished } from "./finish.ts";
import { judge } from "./judge.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/**
 * A reload follows newer mail only; more in a row is a fault that the queue's backoff must slow.
 */
const MOST_RELOADS = 5;

/**
 * Runs the step of a job. Returns when the step is saved, or was saved by somebody else; a number:
 * the step waits for a retry, and this same job must come again after so many ms. Throws only for
 * infrastructure faults, after which the job must be tried again.
 */
export async function runStep(
  deps: StepDeps,
  job: StepJob,
  signal: AbortSignal,
): Promise<number | null> {
  const interrupt = watchInterrupt(deps, job.runId);
  const attempt = { job, signal, interrupt };
  try {
    for (let load = 0; load < MOST_RELOADS; load += 1) {
      signal.throwIfAborted();
      const claim = await deps.store.claim(job.runId, job.step, load > 0);
      if (claim.kind === "missing" || claim.kind === "ended") return null;
      if (claim.kind === "elsewhere") return await goneOn(deps, job, claim.step);
      const finished = await attemptStep(deps, attempt, { ...claim, isReload: load > 0 });
      if (typeof finished === "object") return finished.delayMs;
      if (finished === "saved") return null;
      if (finished === "lost") return await yieldStep(deps, job);
    }
  } finally {
    interrupt.unwatch();
  }
  throw new PawlError(
    "PAWL_STEP_CONFLICT",
    `step ${job.step} was overtaken by mail ${MOST_RELOADS} times`,
  );
}

/**
 * Another worker claimed this step later, so it is the one that may write. To claim it back at once
 * would fence that one in turn, and both would ask and pay the model for ever: this job comes again
 * after the queue's backoff, and finds the step done or its worker dead.
 */
async function yieldStep(deps: StepDeps, job: StepJob): Promise<null> {
  const run = await deps.store.read(job.runId);
  if (run === null || run.parked || isTerminal(parseRunState(run.json).status)) return null;
  if (run.step > job.step) return goneOn(deps, job, run.step);
  throw new PawlError("PAWL_STEP_CONFLICT", `step ${job.step} was taken by another worker`);
}

type Claimed = Extract<Claim, { kind: "claimed" }> & { readonly isReload: boolean };
type Attempt = Pick<Work, "job" | "signal" | "interrupt">;

async function attemptStep(deps: StepDeps, attempt: Attempt, claim: Claimed): Promise<Finished> {
  try {
    const work = await open(deps, attempt, claim);
    if (work === null) return "saved";
    await deps.reach?.("after_load", attempt.job);
    return await advance(deps, work);
  } catch (error) {
    await giveBack(deps, claim.fence, { error, signal: attempt.signal });
    throw error;
  }
}

/** This process lives, so its claim is no crash; only a step that threw is at fault. */
async function giveBack(
  deps: StepDeps,
  fence: Claimed["fence"],
  { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
): Promise<void> {
  const isElsewheres = error instanceof PawlError && error.code === "PAWL_AGENT_UNKNOWN";
  const why = signal.aborted || isElsewheres ? "handed_back" : "fault";
  // What made the step throw may be Redis itself: then the claim counts as the crash it may be.
  await deps.store.release(fence, why).catch(() => undefined);
}

/**
 * This step is done. Its successor's job is added again before this one completes: after a short
 * rollback of Redis' AOF the successor may be gone, and nobody else would know.
 */
async function goneOn(deps: StepDeps, job: StepJob, step: number): Promise<null> {
  if (step < job.step) {
    throw new PawlError("PAWL_STEP_AHEAD", `the run is at step ${step}, the job at ${job.step}`);
  }
  const run = await deps.store.read(job.runId);
  if (run === null || run.parked) return null;
  const state = parseRunState(run.json);
  if (isTerminal(state.status)) return null;
  if (state.status !== "waiting" || run.inbox > 0) await deps.addJob(job.runId, run.step);
  // It died between parking the run and setting its timer.
  else await setTimer(deps, state, (await deps.resolve(state))?.fastForward === true);
  return null;
}

/** Folds the step's journal and what has arrived since; null: unreadable, and parked untouched. */
async function open(deps: StepDeps, attempt: Attempt, claim: Claimed): Promise<Work | null> {
  try {
    const saved = parseRunState(claim.json);
    const mind = await deps.resolve(saved);
    if (mind === null) {
      throw new PawlError("PAWL_AGENT_UNKNOWN", `this worker has no agent ${saved.agent.name}`);
    }
    const events = claim.journal.map(parseEvent);
    const work: Work = {
      ...attempt,
      ...mind,
      fence: claim.fence,
      tries: claim.tries,
      savedStatus: saved.status,
      heard: claim.inbox.length,
      startedAt: deps.now(),
      state: events.reduce(reduce, saved),
      events,
      journaled: events.length,
      hold: null,
      settle: null,
    };
    if (work.state.status === "queued") record(work, claim.since, { type: "started" });
    const { claims } = claim.tries;
    if (claims > 1 && !claim.isReload) record(work, deps.now(), { type: "resumed", claim: claims });
    observe(deps, work, claim.inbox);
    return work;
  } catch (error) {
    if (!(error instanceof PawlError) || error.disposition !== "park") throw error;
    deps.log.fault(attempt.job, error);
    await deps.store.park(claim.fence);
    return null;
  }
}

/** Takes in what happened outside, each once; changes nothing outside. */
function observe(deps: StepDeps, work: Work, inbox: readonly string[]): void {
  for (const entry of inbox) {
    const happening = parseHappening(entry);
    if (happening === null || work.state.seen.includes(happening.id)) continue;
    record(work, deps.now(), { type: "observed", happening });
  }
}

async function advance(deps: StepDeps, work: Work): Promise<Finished> {
  const until = work.fastForward === true ? (work.state.waiting?.until ?? null) : null;
  const plan = planOf(deps, work, until);
  const broken = brokenStep(work);
  // A stop that is due anyway runs nothing of what the workers died of.
  if (broken !== null && plan.do !== "stop") return endBroken(deps, work, broken);
  switch (plan.do) {
    case "nothing":
      if (work.state.waiting?.for === "retry") return stayParked(deps, work);
      // Counted off all the same: while this job exists its id takes no other, so a message that
      // comes before it is removed needs a job with another id. The save also empties the inbox.
      return finish(deps, work);
    case "stop":
      return finishWithStop(deps, work, plan.stop);
    case "judge":
      return judge(deps, work, plan.turn);
    case "carry_out":
      return carryOut(deps, work, plan.approval);
    case "take_kept":
      record(work, deps.now(), {
        type: "decided",
        source: "kept",
        model: null,
        finish: "tool_calls",
        text: null,
        calls: [plan.call],
        usage: null,
        moneyMicroUsd: 0,
        contextTokens: null,
        ms: 0,
      });
      return judgeTurn(deps, work);
    case "ask": {
      if (plan.dropped.length > 0) {
        const why = "the last step runs terminal tools only";
        record(work, deps.now(), { type: "not_executed", calls: [...plan.dropped], why });
      }
      const asked = await askModel(deps, work, plan.offer);
      return asked === "decided" ? judgeTurn(deps, work) : asked;
    }
    default:
      return unreachable(plan, "plan");
  }
}

/** A wait for a retry that is over is left before anything else is looked at. */
function planOf(deps: StepDeps, work: Work, at: number | null): Exclude<Plan, { do: "retry" }> {
  const plan = next(work.state, at ?? deps.now());
  if (plan.do !== "retry") return plan;
  record(work, deps.now(), { type: "retrying" });
  const after = next(work.state, deps.now());
  if (after.do === "retry") throw new Error("a wait that is over is not over");
  return after;
}

async function judgeTurn(deps: StepDeps, work: Work): Promise<Finished> {
  const { turn } = work.state;
  if (turn === null) throw new Error("a decision was recorded and is gone");
  return judge(deps, work, turn);
}
