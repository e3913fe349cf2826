/**
 * Act, record, verify: exactly one call. A write's intent is on disk before its handler starts,
 * under a key that is the same after a crash, so its outcome can be asked for instead of being
 * guessed.
 */
import type { Permission } from "../core/approval.ts";
import { canonicalJson, idempotencyKey, digest } from "../core/call-key.ts";
import type { PreparedCall } from "../core/check.ts";
import { msLeft, timeExceeded } from "../core/budget.ts";
import { messageOf } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { afterCall } from "../core/progress.ts";
import { stop } from "../core/stop.ts";
import { verify } from "../core/verify.ts";
import { readResult, runCall, type CallResult } from "../tools/run-call.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { askPolicy } from "./ask-policy.ts";
import { end, finish, type Finished } from "./finish.ts";
import { followInterrupt, observeCancel } from "./interrupt.ts";
import { journal, record, take, type StepDeps, type Work } from "./work.ts";

/**
 * Results up to this many characters of JSON stand in the journal; longer ones under their own
 * key.
 */
const INLINE_RESULT_CHARS = 8_000;
const PREVIEW_CHARS = 2_000;

/** One call on its way: what is asked, of which tool, under which key. */
export interface Action {
  readonly call: Pick<PreparedCall, "id" | "tool" | "args" | "key">;
  readonly tool: Tool;
  /** null for reads. */
  readonly effectKey: string | null;
  /** An earlier try of this step got as far as the intent. */
  readonly wasIntended: boolean;
  readonly startedAt: number;
}

export async function act(deps: StepDeps, work: Work, call: PreparedCall): Promise<Finished> {
  const tool = work.agent.tools.get(call.tool.name) as Tool;
  const action = await intend(deps, work, call, { tool, permission: work.state.turn?.permission });
  if (typeof action === "string") return action;
  await deps.reach?.("before_act", work.job);
  const result = await perform(deps, work, action);
  const { expected } = call;
  if (result === "late" || result === "cancelled") {
    return finishCut(deps, work, { action, expected }, result);
  }
  await deps.reach?.("after_act", work.job);
  await recordResult(deps, work, action, result);
  if (result.outcome !== "succeeded") return finishFailed(deps, work, tool, result);
  recordVerdict(deps, work, { action, expected }, result.value);
  const after = afterCall(work.state, work.agent);
  if (after.contradiction !== null) {
    record(work, deps.now(), { type: "contradicted", evidence: after.contradiction });
  }
  return finish(deps, work, after.stop);
}

/** Puts a write's intent on disk, once; reads have none. */
export async function intend(
  deps: StepDeps,
  work: Work,
  call: Action["call"],
  permitted: { readonly tool: Tool; readonly permission: Permission | null | undefined },
): Promise<Action | "again" | "lost"> {
  const { tool } = permitted;
  const wasIntended = work.state.calls.some((c) => c.id === call.id && c.outcome === "intended");
  const effectKey = tool.effect === "write" ? idempotencyKey(work.state.id, call.key) : null;
  const action = { call, tool, effectKey, wasIntended, startedAt: deps.now() };
  if (effectKey === null || wasIntended) return action;
  const { id: callId, key, args } = call;
  const { ticket, step } = work.state;
  const event = {
    type: "intended" as const,
    at: action.startedAt,
    step,
    callId,
    tool: tool.name,
    key,
    args,
    idempotencyKey: effectKey,
  };
  const fresh = [...work.events.slice(work.journaled), event];
  const written = await deps.store.intend(work.fence, fresh, {
    event,
    customerId: ticket.customer?.id ?? null,
    ticketId: ticket.id,
    argsHash: digest(canonicalJson(args)),
    customerEffects: permitted.permission?.customerEffects ?? null,
  });
  if (written === "customer_changed") return permitAgain(deps, work, call);
  if (written === "conflict") return "lost";
  take(work, event);
  work.journaled = work.events.length;
  return { ...action, wasIntended: written === "known" };
}

/**
 * Another run did something for the same customer after this permission was given: it is given
 * anew. An approved effect has no turn and is checked as a whole when it is loaded again.
 */
async function permitAgain(
  deps: StepDeps,
  work: Work,
  call: Action["call"],
): Promise<"again" | "lost"> {
  if (work.state.turn === null) return "again";
  const permission = await askPolicy(deps, work, call, false);
  record(work, deps.now(), { type: "permitted", permission });
  return (await journal(deps, work)) === "lost" ? "lost" : "again";
}

export async function perform(
  deps: StepDeps,
  work: Work,
  action: Action,
): Promise<CallResult | "late" | "cancelled"> {
  const { call, tool, wasIntended } = action;
  const left = msLeft(work.state, deps.now());
  const limit = new AbortController();
  const timer = left === null ? null : setTimeout(() => limit.abort(), Math.max(0, left));
  const cancel = new AbortController();
  const signals = [work.signal, limit.signal, cancel.signal];
  const context = contextOf(work, action, AbortSignal.any(signals));
  let unfollow = (): void => undefined;
  try {
    // The crash came after the intent: the effect may have happened, so its books are asked first.
    const earlier = wasIntended ? await lookUp(tool, context) : null;
    if (earlier !== null && earlier !== "absent") return earlier;
    const running = runCall(tool, call.args, context);
    unfollow = followInterrupt(work.interrupt, cancel);
    const result = await running;
    return result.outcome === "unknown" ? await settle(tool, context, result) : result;
  } catch (error) {
    work.signal.throwIfAborted();
    if (cancel.signal.aborted) return "cancelled";
    if (limit.signal.aborted) return "late";
    throw error;
  } finally {
    unfollow();
    if (timer !== null) clearTimeout(timer);
  }
}

/** What the outside's books say of this effect; null where the tool cannot ask. */
async function lookUp(tool: Tool, context: ToolContext): Promise<CallResult | "absent" | null> {
  if (tool.lookup === null || context.idempotencyKey === null) return null;
  try {
    const answer = await tool.lookup(context.idempotencyKey, context);
    return answer.found ? readResult(tool, answer.result, 0) : "absent";
  } catch (error) {
    context.signal.throwIfAborted();
    return { outcome: "unknown", message: `the lookup failed: ${messageOf(error)}`, runs: 0 };
  }
}

/** An unknown outcome is settled by the books, never by a second try. */
async function settle(tool: Tool, context: ToolContext, unknown: CallResult): Promise<CallResult> {
  const seen = await lookUp(tool, context);
  if (seen === null) return unknown;
  if (seen !== "absent") return { ...seen, runs: unknown.runs };
  const message = "the effect did not happen";
  return { outcome: "failed", unavailable: false, message, runs: unknown.runs };
}

export async function recordResult(
  deps: StepDeps,
  work: Work,
  action: Action,
  result: CallResult,
): Promise<void> {
  const { call, effectKey, startedAt } = action;
  const at = deps.now();
  const common = {
    type: "called" as const,
    callId: call.id,
    tool: call.tool.name,
    effect: call.tool.effect,
    key: call.key,
    args: call.args,
    outcome: result.outcome,
    handlerRuns: result.runs,
    ...(effectKey === null ? {} : { idempotencyKey: effectKey }),
    ms: { decide: 0, act: at - startedAt, total: at - work.startedAt },
  };
  if (result.outcome !== "succeeded") {
    const error = { code: "tool_execution_failed", message: result.message };
    record(work, at, { ...common, error });
    return;
  }
  const text = JSON.stringify(result.value);
  if (text.length <= INLINE_RESULT_CHARS) {
    record(work, at, { ...common, result: result.value, digest: digest(text) });
    return;
  }
  // Stored before the save that refers to it; a crash in between leaves a key that is written
  // again.
  await deps.store.putResult(work.state.id, call.id, text);
  const preview = text.slice(0, PREVIEW_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  const ref = { bytes: Buffer.byteLength(text), preview };
  record(work, at, { ...common, ref, digest: digest(text) });
}

/** An action and what was said that its result will show. */
interface Expecting {
  readonly action: Action;
  readonly expected: PreparedCall["expected"];
}

/** Compares a result with what was expected of it, records both verdict and facts, returns it. */
export function recordVerdict(
  deps: StepDeps,
  work: Work,
  { action, expected }: Expecting,
  result: Json,
): { readonly verdict: string; readonly why: readonly string[] } {
  const { call, tool } = action;
  const at = deps.now();
  const { verdict, why, facts, question } = verify(work.state, tool, {
    callId: call.id,
    step: work.state.step,
    args: call.args,
    expected,
    result,
    at,
  });
  const seen = { callId: call.id, verdict, why: [...why], facts: [...facts], question };
  record(work, at, { type: "verified", ...seen });
  return { verdict, why };
}

async function finishFailed(
  deps: StepDeps,
  work: Work,
  tool: Tool,
  result: Exclude<CallResult, { outcome: "succeeded" }>,
): Promise<Finished> {
  if (result.outcome === "unknown") {
    const detail = `${tool.name}: ${result.message}, and nobody can say whether it happened`;
    return end(deps, work, { stop: stop("handoff", "effect_unknown", detail) });
  }
  if (tool.required && result.unavailable) {
    const detail = `${tool.name} is required and did not answer: ${result.message}`;
    return end(deps, work, { stop: stop("handoff", "required_tool_unavailable", detail) });
  }
  return finish(deps, work, afterCall(work.state, work.agent).stop);
}

/** How long the books of an effect are asked after the run's own time is over. */
const LATE_LOOKUP_MS = 2_000;

/**
 * The time limit, or a cancel, came while the call was out. A write may have happened: its books
 * say so, and what they say is recorded.
 */
export async function finishCut(
  deps: StepDeps,
  work: Work,
  expecting: Expecting,
  cause: "late" | "cancelled",
): Promise<Finished> {
  const { action } = expecting;
  if (action.effectKey !== null) {
    const known = await knownOfCut(work, action, cause);
    await recordResult(deps, work, action, known);
    if (known.outcome === "succeeded") recordVerdict(deps, work, expecting, known.value);
  }
  const found = cause === "late" ? timeExceeded(work.state) : observeCancel(deps, work);
  return end(deps, work, { stop: found });
}

/** What the outside's books say of an effect whose call was cut. */
async function knownOfCut(
  work: Work,
  action: Action,
  cause: "late" | "cancelled",
): Promise<CallResult> {
  const context = contextOf(work, action, AbortSignal.timeout(LATE_LOOKUP_MS));
  const seen = await lookUp(action.tool, context).catch(() => null);
  const first = cause === "late" ? "the time limit" : "a cancel";
  if (seen === null) return { outcome: "unknown", message: `${first} came first`, runs: 1 };
  if (seen !== "absent") return seen;
  const message = "the effect did not happen";
  return { outcome: "failed", unavailable: false, message, runs: 1 };
}

function contextOf(work: Work, action: Action, signal: AbortSignal): ToolContext {
  return {
    runId: work.state.id,
    step: work.state.step,
    ticketId: work.state.ticket.id,
    customerId: work.state.ticket.customer?.id ?? null,
    idempotencyKey: action.effectKey,
    signal,
  };
}
