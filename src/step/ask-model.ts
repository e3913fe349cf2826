/**
 * Decide: one model call, reserved before it leaves. A crash before the decision is on disk leaves
 * the reservation as spent.
 */
import { msLeft, reserve, timeExceeded } from "../core/budget.ts";
import { buildContext } from "../core/context.ts";
import type { ReplyCall } from "../core/decision.ts";
import { costOf } from "../core/price.ts";
import { stop } from "../core/stop.ts";
import { ProviderFault, type ModelReply, type ModelRequest } from "../providers/provider.ts";
import { finishWithStop, type Finished } from "./finish.ts";
import { observeCancel } from "./interrupt.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/** "decided": a decision is in the state's turn; judge.ts puts it on disk before it acts on it. */
export async function askModel(
  deps: StepDeps,
  work: Work,
  offer: "all" | "terminals",
): Promise<"decided" | Finished> {
  const { provider } = work;
  const draft = {
    ...buildContext(work.state, work.agent, offer),
    runId: work.state.id,
    step: work.state.step,
    turn: work.state.modelTurns,
    model: provider.model,
  };
  const inputTokens = await provider.countInput(draft);
  const reserved = reserve(work.state, inputTokens, provider.price);
  if (!reserved.ok) return finishWithStop(deps, work, reserved.stop);
  const request = { ...draft, outputCap: reserved.outputCap };
  // A model that counts and costs nothing has nothing to lose in a crash: no extra round trip.
  if (inputTokens > 0 || reserved.amount.moneyMicroUsd > 0) {
    record(work, deps.now(), { type: "reserved", ...reserved.amount });
    if ((await journal(deps, work)) === "conflict") return "conflict";
  }
  await deps.reach?.("after_reserve", work.job);
  const startedAt = deps.now();
  const reply = await requestDecision(deps, work, request);
  if (reply === "late") return finishWithStop(deps, work, timeExceeded(work.state));
  if (reply === "cancelled") return finishWithStop(deps, work, observeCancel(deps, work));
  if (reply instanceof ProviderFault) {
    const found = stop("blocked", "provider_unavailable", reply.message);
    return finishWithStop(deps, work, found);
  }
  await deps.reach?.("after_decide", work.job);
  recordDecision(deps, work, reply, { inputTokens, startedAt });
  return "decided";
}

/** Asks, and asks again inside the step for faults that may pass; none of it counts as a step. */
async function requestDecision(
  deps: StepDeps,
  work: Work,
  request: ModelRequest,
): Promise<ModelReply | ProviderFault | "late" | "cancelled"> {
  if (work.interrupt.signal.aborted) return "cancelled";
  const left = msLeft(work.state, deps.now());
  const limit = new AbortController();
  const timer = left === null ? null : setTimeout(() => limit.abort(), Math.max(0, left));
  const signal = AbortSignal.any([work.signal, limit.signal, work.interrupt.signal]);
  try {
    const most = work.state.limits.providerRetries ?? Number.POSITIVE_INFINITY;
    for (let retries = 0; ; retries += 1) {
      try {
        return await work.provider.decide(request, signal);
      } catch (error) {
        work.signal.throwIfAborted();
        if (work.interrupt.signal.aborted) return "cancelled";
        if (limit.signal.aborted) return "late";
        if (!(error instanceof ProviderFault)) throw error;
        if (error.isFinal || retries >= most) return error;
      }
    }
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

function recordDecision(
  deps: StepDeps,
  work: Work,
  reply: ModelReply,
  asked: { readonly inputTokens: number; readonly startedAt: number },
): void {
  const { provider } = work;
  const first = work.state.nextCall;
  const calls: ReplyCall[] = reply.calls.map((call, i) => ({ id: `c${first + i}`, ...call }));
  const missing = reply.usage === null;
  record(work, deps.now(), {
    type: "decided",
    source: "model",
    model: provider.model,
    finish: reply.finish,
    text: reply.text,
    calls,
    usage: reply.usage,
    // Missing usage settles at the reservation.
    moneyMicroUsd: missing
      ? (work.state.reserved?.moneyMicroUsd ?? 0)
      : costOf(reply.usage, provider.price),
    contextTokens: reply.usage?.input ?? (asked.inputTokens > 0 ? asked.inputTokens : null),
    ms: deps.now() - asked.startedAt,
  });
}

/**
 * Writes what is not yet in the step's journal; a conflict means that another worker has the step.
 */
export async function journal(deps: StepDeps, work: Work): Promise<"written" | "conflict"> {
  const fresh = work.events.slice(work.journaled);
  if (fresh.length === 0) return "written";
  const written = await deps.store.journal(work.fence, fresh);
  if (written !== "applied") return "conflict";
  work.journaled = work.events.length;
  return "written";
}
