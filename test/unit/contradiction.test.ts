import { describe, expect, test } from "vitest";
import { findContradiction, findMissingData, holds } from "../../src/core/contradiction.ts";
import { afterCall } from "../../src/core/progress.ts";
import type { Fact } from "../../src/core/fact.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { orderDomain } from "../support/order-agent.ts";
import { factOf, runningState } from "../support/run-fixture.ts";

const RULE = {
  id: "pending-but-paid",
  when: [
    { fact: "order.status", equals: "pending" },
    { fact: "order.paid", equals: true },
  ],
};
const MISSING = { id: "no-hits", when: [{ fact: "kb.hits", equals: [] }] };
const PENDING = factOf("order.status", "pending", { id: "f1", about: { orderId: "A-1" } });
const PAID = factOf("order.paid", true, { id: "f2", about: { orderId: "A-1" } });

function setup(facts: readonly Fact[], changes: Partial<RunState> = {}) {
  const { agent } = orderDomain({ contradictions: [RULE], missingData: [MISSING] });
  return { agent, state: runningState(agent, { facts: [...facts], ...changes }) };
}

describe("findContradiction", () => {
  test("both sides at once are a contradiction, with the evidence of each", () => {
    const { state, agent } = setup([PENDING, PAID]);
    expect(findContradiction(state, agent)).toEqual({ rule: RULE.id, sides: [PENDING, PAID] });
  });

  test("one side alone is none", () => {
    const { state, agent } = setup([PENDING]);
    expect(findContradiction(state, agent)).toBeNull();
  });

  test("facts about two orders do not contradict each other", () => {
    const { state, agent } = setup([PENDING, { ...PAID, about: { orderId: "A-2" } }]);
    expect(findContradiction(state, agent)).toBeNull();
  });

  test("only the newest value of a key counts", () => {
    const later = factOf("order.status", "delivered", { id: "f3", about: { orderId: "A-1" } });
    const { state, agent } = setup([PENDING, PAID, later]);
    expect(findContradiction(state, agent)).toBeNull();
  });
});

test("a missing-data rule applies when all of it holds", () => {
  const found = setup([factOf("kb.hits", [])]);
  expect(findMissingData(found.state, found.agent)).toBe("no-hits");
  const none = setup([]);
  expect(findMissingData(none.state, none.agent)).toBeNull();
});

test("a condition on a fact that is not there holds only where it must not exist", () => {
  const { state } = setup([]);
  expect(holds(state, { fact: "order.paid", exists: false })).toBe(true);
  expect(holds(state, { fact: "order.paid", equals: false })).toBe(false);
});

describe("after a call", () => {
  test("a contradiction ends the run as a handoff and is told", () => {
    const { state, agent } = setup([PENDING, PAID]);
    expect(afterCall(state, agent)).toMatchObject({
      stop: { status: "handoff", reason: "contradiction" },
      contradiction: { rule: RULE.id },
    });
  });

  test("no progress comes before a contradiction", () => {
    const { state, agent } = setup([PENDING, PAID]);
    const streaks = { ...state.streaks, noProgress: 2 };
    expect(afterCall({ ...state, streaks }, agent).stop).toMatchObject({
      status: "stalled",
      reason: "no_progress",
    });
  });

  test.each([
    [1, 2, false],
    [2, 2, true],
    [3, 2, true],
    [1, 1, true],
    [0, 0, false],
    [1, 0, true],
    [99, null, false],
  ])("%i calls without progress of %s: stalled %s", (noProgress, limit, isStalled) => {
    const { state, agent } = setup([]);
    const limits = { ...state.limits, stepsWithoutProgress: limit };
    const found = afterCall({ ...state, limits, streaks: { ...state.streaks, noProgress } }, agent);
    expect(found.stop !== null).toBe(isStalled);
  });

  test("a missing-data rule is a handoff", () => {
    const { state, agent } = setup([factOf("kb.hits", [])]);
    expect(afterCall(state, agent).stop).toMatchObject({ reason: "missing_data" });
  });
});
