/** A short run as its journal tells it, built by hand: what views and traces are tested on. */
import { digest } from "../../src/core/call-key.ts";
import type { Event, EventOf } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { replay } from "../../src/core/reduce.ts";
import type { Fact } from "../../src/core/fact.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { orderDomain } from "./order-agent.ts";
import { acceptedEvent, AT, callOf, factOf } from "./run-fixture.ts";

export const RESULT: Json = { orderId: "A-1", status: "delivered", paid: true };
const STATUS_FACT = factOf("order.status", "delivered", { pointer: "/status" });
const permission = { callId: "c1", answer: "allow" as const, rule: "declared_tool", reason: "" };
const usage = { input: 100, cached: 40, cacheWrite: 0, output: 20, reasoning: 0 };

export interface ToldRun {
  readonly events: readonly Event[];
  readonly lines: readonly string[];
  readonly state: RunState;
}

export function told(events: readonly Event[]): ToldRun {
  return { events, lines: events.map((event) => JSON.stringify(event)), state: replay(events) };
}

export function decidedEvent(step: number, call: ReturnType<typeof callOf>): Event {
  const rest = { model: "m", finish: "tool_calls", text: null, contextTokens: 1, ms: 5 };
  const spent = { calls: [call], usage, moneyMicroUsd: 3 };
  return { at: AT, step, type: "decided", source: "model", ...spent, ...rest };
}

/** `get_order` with this result, inline unless it is referred to. */
export function calledEvent(changes: Partial<EventOf<"called">> = {}): EventOf<"called"> {
  return {
    at: AT,
    step: 1,
    type: "called",
    callId: "c1",
    tool: "get_order",
    effect: "read",
    key: "get_order:k",
    args: { orderId: "A-1" },
    outcome: "succeeded",
    result: RESULT,
    digest: digest(JSON.stringify(RESULT)),
    handlerRuns: 1,
    ms: { decide: 0, act: 9, total: 15 },
    ...changes,
  };
}

/** One read in step 1: the journal up to its end, with these facts. */
export function readEvents(
  called: EventOf<"called"> = calledEvent(),
  facts: readonly Fact[] = [STATUS_FACT],
): Event[] {
  const seen = { callId: "c1", verdict: "confirmed" as const, why: [], question: null };
  return [
    acceptedEvent(orderDomain().agent),
    { at: AT, step: 1, type: "started" },
    decidedEvent(1, callOf("get_order", { orderId: "a-1" })),
    { at: AT, step: 1, type: "permitted", permission },
    called,
    { at: AT, step: 1, type: "verified", ...seen, facts: [...facts] },
    { at: AT, step: 1, type: "step_ended", ms: 20 },
  ];
}

/** Ends a run with an answer that claims these facts. */
export function answerEvents(facts: readonly Fact[] = [STATUS_FACT]): Event[] {
  const text = "It was delivered.";
  const claims = facts.map(({ id, key, value }) => ({ factId: id, key, value }));
  const message = { id: "m1", kind: "answer" as const, step: 2, text };
  return [
    decidedEvent(2, callOf("answer_user", { message: text }, { id: "c2", expected: null })),
    { at: AT, step: 2, type: "sent", message },
    {
      at: AT + 1_000,
      step: 2,
      type: "ended",
      status: "completed",
      reason: "answered",
      detail: "every claim is a fact and the goal holds",
      earlierStep: null,
      outcome: { kind: "answer", message: text, claims },
    },
  ];
}

export function answeredRun(
  called: EventOf<"called"> = calledEvent(),
  facts: readonly Fact[] = [STATUS_FACT],
): ToldRun {
  return told([...readEvents(called, facts), ...answerEvents(facts)]);
}

/** Ends a run with a handoff that reports what is known. */
export function handedOver(events: readonly Event[]): ToldRun {
  const { facts, questions, calls } = replay(events);
  const other = factOf("delivery.status", "in_transit", {
    id: "f9",
    callId: "c9",
    tool: "carrier",
  });
  const open = questions.filter((question) => question.open);
  return told([
    ...events,
    {
      at: AT,
      step: 2,
      type: "ended",
      status: "handoff",
      reason: "contradiction",
      detail: "facts break the rule shop_and_carrier",
      earlierStep: null,
      outcome: {
        kind: "handoff",
        known: facts,
        unknown: open.map(({ id, text }) => ({ id, text })),
        contradicts: [{ rule: "shop_and_carrier", sides: [...facts.slice(0, 1), other] }],
        tried: calls.map((call) => ({
          callId: call.id,
          step: call.step,
          tool: call.tool,
          args: call.shownArgs,
          outcome: call.outcome,
        })),
        queue: "delivery",
        summary: null,
        customerMessage: null,
      },
    },
  ]);
}
