/**
 * Decide: one model call, reserved before it leaves and settled when its reply is journaled. Every
 * attempt reserves anew: what a failed one cost is known, or stays spent. A crash before the
 * decision is on disk leaves the reservation as spent.
 */
import { setTimeout as pause } from "node:timers/promises";
import { msLeft, timeExceeded } from "../core/budget.ts";
import { tokensOf, type ReplyCall } from "../core/decision.ts";
import { costOf } from "../core/price.ts";
import { afterFault, afterGate, type AfterFault } from "../core/retry.ts";
import { NOTHING, type ModelFault } from "../core/run-state.ts";
import { ProviderFault, type ModelReply, type ModelRequest } from "../providers/provider.ts";
import { finishWithStop, park, type Finished } from "./finish.ts";
import { observeCancel } from "./interrupt.ts";
import { keptItems, modelContext } from "./model-context.ts";
import { reserveCall, settleLater, type Asked, type Reserved } from "./reserve-call.ts";
import { journal, record, type StepDeps, type Work } from "./work.ts";

/** A wait up to this long is spent in the step; for a longer one the run parks. */
const PAUSE_MS = 1_000;
/** Characters of a cache key that servers take. */
const MOST_CACHE_KEY = 64;
/** The rest of a pause whose gate counts it on another clock. */
const GATE_PAUSE_MS = 50;

/**
 * "decided": a decision is in the state's turn; judge.ts puts it on disk before it acts on it.
 * Every attempt is counted in the state, and their number has a bound.
 */
export async function askModel(
  deps: StepDeps,
  work: Work,
  offer: "all" | "terminals",
): Promise<"decided" | Finished> {
  const open = work.state.retry?.open;
  if (open !== undefined) {
    const after = await afterOpenFault(deps, work, routeOf(work)[1], open);
    if (after !== "again_in_step") return after;
  }
  for (;;) {
    const asked = await prepare(deps, work, offer);
    const reserved = await reserveCall(deps, work, asked);
    if (typeof reserved === "string" || "delayMs" in reserved) return reserved;
    const startedAt = deps.now();
    const attempt =
      "gatedMs" in reserved
        ? await holdBack(deps, work, reserved.gatedMs)
        : await attemptOnce(deps, work, { ...asked, ...reserved, startedAt });
    if (attempt !== "again_in_step") return attempt;
  }
}

type Attempted = "decided" | "again_in_step" | Finished;
type Answered = Asked & Extract<Reserved, { outputCap: number }> & { readonly startedAt: number };

async function attemptOnce(deps: StepDeps, work: Work, sent: Answered): Promise<Attempted> {
  const { provider, draft, outputCap } = sent;
  await deps.reach?.("after_reserve", work.job);
  const request: ModelRequest = { ...draft, outputCap };
  const reply = await within(deps, work, async (signal) => {
    try {
      return await provider.decide(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProviderFault) return error;
      throw error;
    }
  });
  if (reply === "late") return finishWithStop(deps, work, timeExceeded(work.state));
  if (reply === "cancelled") return finishWithStop(deps, work, observeCancel(deps, work));
  if (reply instanceof ProviderFault) return recover(deps, work, reply, sent);
  // The first that got through lets the others go as well.
  if (sent.isProbe && provider.gate !== undefined) await deps.gates?.open(provider.gate);
  await deps.reach?.("after_decide", work.job);
  const kept = await keepItems(deps, work, reply);
  recordDecision(deps, work, reply, { ...sent, kept });
  return "decided";
}

async function recover(
  deps: StepDeps,
  work: Work,
  fault: ProviderFault,
  sent: Answered,
): Promise<Attempted> {
  recordFailure(deps, work, fault, sent);
  // On disk at once: a crash before the next attempt must not lose what this one cost.
  if ((await journal(deps, work)) === "lost") return "lost";
  return afterOpenFault(deps, work, sent.provider, fault);
}

/** Takes the fault that stands in the state, of this attempt or of the one before a crash. */
async function afterOpenFault(
  deps: StepDeps,
  work: Work,
  { gate }: Asked["provider"],
  fault: ModelFault,
): Promise<Attempted> {
  const random = deps.random();
  const then = afterFault(work.state, fault, { hasFallback: hasFallback(work), random });
  const isLimit = fault.kind === "rate_limit" || fault.retryAfterMs !== null;
  if (then.do !== "wait" || gate === undefined || !isLimit || deps.gates === undefined) {
    return goOnAfter(deps, work, then, 0);
  }
  const ms = await deps.gates.close(gate, then.ms);
  return goOnAfter(deps, work, { do: "wait", ms }, Math.max(0, ms - then.ms));
}

/** Another run's rate limit: no request left, so nothing is counted but the wait. */
function holdBack(deps: StepDeps, work: Work, ms: number): Promise<Attempted> {
  const then = afterGate(work.state, ms, hasFallback(work));
  return goOnAfter(deps, work, then, ms);
}

async function goOnAfter(
  deps: StepDeps,
  work: Work,
  then: AfterFault,
  gatedMs: number,
): Promise<Attempted> {
  if (then.do === "stop") return finishWithStop(deps, work, then.stop);
  if (then.do === "fall_back") {
    const [from, to] = [work.provider.model, work.fallback?.model ?? ""];
    record(work, deps.now(), { type: "fell_back", from, to, why: then.why });
    return "again_in_step";
  }
  if (then.ms > (gatedMs > 0 ? GATE_PAUSE_MS : PAUSE_MS)) {
    return park(deps, work, then.ms, gatedMs);
  }
  const waited = await within(deps, work, (signal) => pause(then.ms, "over", { signal }));
  if (waited === "late") return finishWithStop(deps, work, timeExceeded(work.state));
  if (waited === "cancelled") return finishWithStop(deps, work, observeCancel(deps, work));
  return "again_in_step";
}

function hasFallback({ fallback, state }: Work): boolean {
  return fallback !== undefined && state.fellBack !== true;
}

async function prepare(deps: StepDeps, work: Work, offer: "all" | "terminals"): Promise<Asked> {
  const { id: runId, step, modelTurns, modelFaults = 0 } = work.state;
  const [route, provider] = routeOf(work);
  const context = await modelContext(deps, work, offer);
  const turn = modelTurns + modelFaults;
  const items = await keptItems(deps, runId, context);
  const { name, version } = work.agent;
  const cacheKey = `${name} ${version}`.slice(0, MOST_CACHE_KEY);
  const { model } = provider;
  const draft = { ...context, runId, step, turn, model, cacheKey, items };
  return { provider, route, draft, count: await provider.countInput(draft) };
}

function routeOf(work: Work): readonly [Asked["route"], Asked["provider"]] {
  const { fallback, routine, provider, state } = work;
  if (fallback !== undefined && state.fellBack === true) return ["fallback", fallback];
  return routine !== undefined && isRoutine(work) ? ["routine", routine] : ["main", provider];
}

/** A rule that throws has said nothing: the main model is the safe choice. */
function isRoutine({ agent, state }: Work): boolean {
  try {
    return agent.isRoutine?.(state) === true;
  } catch {
    return false;
  }
}

/** Does something that waits, no longer than the run's time, this worker or a cancel let it. */
async function within<T>(
  deps: StepDeps,
  work: Work,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T | "late" | "cancelled"> {
  if (work.interrupt.signal.aborted) return "cancelled";
  const left = msLeft(work.state, deps.now());
  const limit = new AbortController();
  const timer = left === null ? null : setTimeout(() => limit.abort(), Math.max(0, left));
  try {
    return await act(AbortSignal.any([work.signal, limit.signal, work.interrupt.signal]));
  } catch (error) {
    work.signal.throwIfAborted();
    if (work.interrupt.signal.aborted) return "cancelled";
    if (limit.signal.aborted) return "late";
    throw error;
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

function recordFailure(
  deps: StepDeps,
  work: Work,
  { fate, message, kind, retryAfterMs, requestId }: ProviderFault,
  { provider, startedAt }: Answered,
): void {
  const usage = fate.fate === "reported" ? fate.usage : null;
  const moneyMicroUsd = usage === null ? 0 : costOf(usage, provider.price);
  if (fate.fate === "unknown") work.hold = null;
  else settleLater(work, { tokens: usage === null ? 0 : tokensOf(usage), moneyMicroUsd });
  record(work, deps.now(), {
    type: "attempt_failed",
    model: provider.model,
    fate: fate.fate,
    message,
    disposition: kind,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(requestId === null ? {} : { requestId }),
    usage,
    moneyMicroUsd,
    ms: deps.now() - startedAt,
  });
}

/** Stored before the journal refers to it: a crash in between leaves a key to be written again. */
async function keepItems(
  deps: StepDeps,
  { state }: Work,
  { items }: ModelReply,
): Promise<string | null> {
  if (items === undefined || items === null) return null;
  const ref = `items-c${state.nextCall}`;
  await deps.store.putResult(state.id, ref, items);
  return ref;
}

function recordDecision(
  deps: StepDeps,
  work: Work,
  reply: ModelReply,
  { provider, count, startedAt, kept }: Answered & { readonly kept: string | null },
): void {
  const first = work.state.nextCall;
  const calls: ReplyCall[] = reply.calls.map((call, i) => ({ id: `c${first + i}`, ...call }));
  const { usage } = reply;
  // Missing usage settles at the reservation.
  const reserved = work.state.reserved ?? NOTHING;
  const moneyMicroUsd = usage === null ? reserved.moneyMicroUsd : costOf(usage, provider.price);
  const tokens = usage === null ? reserved.tokens : tokensOf(usage);
  settleLater(work, { tokens, moneyMicroUsd });
  record(work, deps.now(), {
    type: "decided",
    source: "model",
    model: provider.model,
    finish: reply.finish,
    text: reply.text,
    calls,
    usage,
    moneyMicroUsd,
    contextTokens: usage === null || usage.input === 0 ? count.tokens : usage.input,
    ...(reply.requestId ? { requestId: reply.requestId } : {}),
    ...(kept === null ? {} : { items: kept }),
    ...(reply.rawUsage ? { rawUsage: reply.rawUsage } : {}),
    ms: deps.now() - startedAt,
  });
}
