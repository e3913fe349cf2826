/**
 * Decide: one model call, reserved before it leaves and settled when its reply is journaled. Every
 * attempt reserves anew: what a failed one cost is known, or stays spent. A crash before the
 * decision is on disk leaves the reservation as spent.
 */
import { msLeft, timeExceeded } from "../core/budget.ts";
import { tokensOf, type ReplyCall } from "../core/decision.ts";
import { costOf } from "../core/price.ts";
import { NOTHING } from "../core/run-state.ts";
import { stop } from "../core/stop.ts";
import { ProviderFault, type ModelReply, type ModelRequest } from "../providers/provider.ts";
import { finishWithStop, type Finished } from "./finish.ts";
import { observeCancel } from "./interrupt.ts";
import { modelContext } from "./model-context.ts";
import { reserveCall, settleLater, type Asked } from "./reserve-call.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/** "decided": a decision is in the state's turn; judge.ts puts it on disk before it acts on it. */
export async function askModel(
  deps: StepDeps,
  work: Work,
  offer: "all" | "terminals",
): Promise<"decided" | Finished> {
  const asked = await prepare(deps, work, offer);
  const most = work.state.limits.providerRetries ?? Number.POSITIVE_INFINITY;
  for (let retries = 0; ; retries += 1) {
    const outputCap = await reserveCall(deps, work, asked);
    if (typeof outputCap === "string") return outputCap;
    await deps.reach?.("after_reserve", work.job);
    const startedAt = deps.now();
    const reply = await requestDecision(deps, work, asked, outputCap);
    if (reply === "late") return finishWithStop(deps, work, timeExceeded(work.state));
    if (reply === "cancelled") return finishWithStop(deps, work, observeCancel(deps, work));
    if (!(reply instanceof ProviderFault)) {
      await deps.reach?.("after_decide", work.job);
      recordDecision(deps, work, reply, { ...asked, startedAt });
      return "decided";
    }
    recordFailure(deps, work, reply, { ...asked, startedAt });
    // On disk at once: a crash before the next attempt must not lose what this one cost.
    if (asked.count.isMetered && (await journal(deps, work)) === "lost") return "lost";
    if (reply.isFinal || retries >= most) {
      const found = stop("blocked", "provider_unavailable", reply.message);
      return finishWithStop(deps, work, found);
    }
  }
}

async function prepare(deps: StepDeps, work: Work, offer: "all" | "terminals"): Promise<Asked> {
  const { id: runId, step, modelTurns: turn } = work.state;
  const route = work.routine !== undefined && isRoutine(work) ? "routine" : "main";
  const provider = route === "routine" ? (work.routine ?? work.provider) : work.provider;
  const context = await modelContext(deps, work, offer);
  const draft = { ...context, runId, step, turn, model: provider.model };
  return { provider, route, draft, count: await provider.countInput(draft) };
}

/** A rule that throws has said nothing: the main model is the safe choice. */
function isRoutine({ agent, state }: Work): boolean {
  try {
    return agent.isRoutine?.(state) === true;
  } catch {
    return false;
  }
}

async function requestDecision(
  deps: StepDeps,
  work: Work,
  { provider, draft }: Asked,
  outputCap: number,
): Promise<ModelReply | ProviderFault | "late" | "cancelled"> {
  if (work.interrupt.signal.aborted) return "cancelled";
  const left = msLeft(work.state, deps.now());
  const limit = new AbortController();
  const timer = left === null ? null : setTimeout(() => limit.abort(), Math.max(0, left));
  const signal = AbortSignal.any([work.signal, limit.signal, work.interrupt.signal]);
  const request: ModelRequest = { ...draft, outputCap };
  try {
    return await provider.decide(request, signal);
  } catch (error) {
    work.signal.throwIfAborted();
    if (work.interrupt.signal.aborted) return "cancelled";
    if (limit.signal.aborted) return "late";
    if (!(error instanceof ProviderFault)) throw error;
    return error;
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

type Answered = Asked & { readonly startedAt: number };

function recordFailure(
  deps: StepDeps,
  work: Work,
  { fate, message }: ProviderFault,
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
    usage,
    moneyMicroUsd,
    ms: deps.now() - startedAt,
  });
}

function recordDecision(
  deps: StepDeps,
  work: Work,
  reply: ModelReply,
  { provider, count, startedAt }: Answered,
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
    ms: deps.now() - startedAt,
  });
}

/**
 * Writes what is not yet in the step's journal, and settles what was held of the tenant's day with
 * it; lost: another worker has the step.
 */
export async function journal(deps: StepDeps, work: Work): Promise<"written" | "lost"> {
  const fresh = work.events.slice(work.journaled);
  if (fresh.length === 0) return "written";
  const written = await deps.store.journal(work.fence, fresh, work.settle);
  if (written !== "applied") return "lost";
  work.journaled = work.events.length;
  work.settle = null;
  return "written";
}
