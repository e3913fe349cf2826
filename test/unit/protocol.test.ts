import { expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { protocolOf, toolErrorsOf } from "../../src/core/protocol.ts";
import { orderDomain } from "../support/order-agent.ts";
import { acceptedEvent, AT, callOf } from "../support/run-fixture.ts";

const call = callOf("get_order", { orderId: "a-1" });
const at = (step: number) => ({ at: AT, step });
const usage = { input: 100, cached: 40, cacheWrite: 0, output: 20, reasoning: 0 };

function decided(step: number, calls = [call]): Event {
  const rest = { model: "m", finish: "tool_calls", text: null, contextTokens: 1, ms: 5 };
  return { ...at(step), type: "decided", source: "model", calls, usage, moneyMicroUsd: 3, ...rest };
}

const permission = { callId: "c1", answer: "allow" as const, rule: "declared_tool", reason: "" };
const called = {
  type: "called" as const,
  callId: "c1",
  tool: "get_order",
  effect: "read" as const,
  key: "k",
  args: { orderId: "A-1" },
  handlerRuns: 2,
  ms: { decide: 0, act: 9, total: 9 },
};
const error = { code: "tool_execution_failed", message: "down" };
const outcome = {
  kind: "stop" as const,
  known: [],
  unknown: [],
  contradicts: [],
  tried: [],
  detail: "",
};

const JOURNAL: readonly Event[] = [
  acceptedEvent(orderDomain().agent),
  { ...at(1), type: "started" },
  decided(1),
  { ...at(1), type: "permitted", permission },
  { ...at(1), ...called, outcome: "succeeded", result: {} },
  {
    ...at(1),
    type: "verified",
    callId: "c1",
    verdict: "confirmed",
    why: [],
    facts: [],
    question: null,
  },
  { ...at(1), type: "step_ended", ms: 20 },
  { ...at(2), type: "resumed", claim: 2 },
  { ...at(2), type: "step_ended", ms: 1 },
  decided(3, [callOf("nope", {})]),
  {
    ...at(3),
    type: "refused",
    callId: "c2",
    tool: "nope",
    code: "unknown_tool",
    terminal: false,
    message: "there is no such tool",
  },
  decided(4),
  { ...at(4), ...called, outcome: "failed", error },
  {
    ...at(4),
    type: "ended",
    status: "stalled",
    reason: "repeated_call",
    detail: "again",
    earlierStep: 1,
    outcome,
  },
];

test("a step that decided is one row, with the arguments as they were used", () => {
  const [first] = protocolOf(JOURNAL);
  expect(first).toMatchObject({
    step: 1,
    source: "model",
    tool: "get_order",
    args: { orderId: "A-1" },
    reason: "to see",
    verdict: "confirmed",
    permission: { answer: "allow", rule: "declared_tool" },
    handlerRuns: 2,
    tokens: { input: 100, cached: 40, output: 20 },
    moneyMicroUsd: 3,
    ms: { decide: 5, act: 9, total: 20 },
    error: null,
    status: null,
  });
});

test("a step that only woke up has no row", () => {
  expect(protocolOf(JOURNAL).map((row) => row.step)).toEqual([1, 3, 4]);
});

test("a refusal and an end are told in their rows", () => {
  const [, third, fourth] = protocolOf(JOURNAL);
  expect(third).toMatchObject({ error: "unknown_tool", why: ["there is no such tool"] });
  expect(fourth).toMatchObject({
    status: "stalled",
    statusReason: "repeated_call",
    earlierStep: 1,
    why: ["down"],
  });
});

test("arguments that never became JSON are told as they came", () => {
  const raw = callOf("get_order", {}, { args: { text: "{" } });
  expect(protocolOf([decided(1, [raw])])).toMatchObject([{ args: "{" }]);
});

test("the error results are told without what ended the run", () => {
  expect(toolErrorsOf(JOURNAL)).toEqual(["unknown_tool"]);
  expect(toolErrorsOf(JOURNAL.slice(0, -1))).toEqual(["unknown_tool", "tool_execution_failed"]);
});

test("an empty journal has no rows", () => {
  expect(protocolOf([])).toEqual([]);
});
