/** How a run goes on after a request to its model that gave no decision. */
import { describe, expect, test } from "vitest";
import { afterFault, afterGate } from "../../src/core/retry.ts";
import type { ModelFault, RunState } from "../../src/core/run-state.ts";
import { orderDomain } from "../support/order-agent.ts";
import { runningState } from "../support/run-fixture.ts";

const MOST = { hasFallback: false, random: 0.999_999 };
const LEAST = { hasFallback: false, random: 0 };

const fault = (changes: Partial<ModelFault> = {}): ModelFault => ({
  kind: "retry",
  retryAfterMs: null,
  message: "status 503",
  ...changes,
});
const after = (faults: number, limits: Partial<RunState["limits"]> = {}): RunState => {
  const state = runningState(orderDomain().agent, { retry: { faults, gatedMs: 0 } });
  return { ...state, limits: { ...state.limits, ...limits } };
};

test.each([
  [1, 125, 250],
  [2, 250, 500],
  [3, 500, 1_000],
])("the delay of our own after fault %d is between %d and %d ms", (faults, least, most) => {
  expect(afterFault(after(faults), fault(), LEAST)).toEqual({ do: "wait", ms: least });
  expect(afterFault(after(faults), fault(), MOST)).toEqual({ do: "wait", ms: most });
});

test("a rate limit without a time given is left alone for longer", () => {
  const limit = fault({ kind: "rate_limit" });
  expect(afterFault(after(1), limit, MOST)).toEqual({ do: "wait", ms: 1_000 });
  expect(afterFault(after(2), limit, MOST)).toEqual({ do: "wait", ms: 2_000 });
});

test("our own delays grow to half a minute and no further", () => {
  const state = after(40, { providerRetries: null });
  expect(afterFault(state, fault(), MOST)).toEqual({ do: "wait", ms: 30_000 });
});

test("the server's delay is kept to the millisecond", () => {
  const told = fault({ kind: "rate_limit", retryAfterMs: 2_001 });
  expect(afterFault(after(1), told, MOST)).toEqual({ do: "wait", ms: 2_001 });
});

test.each([0, null])("a server that says %s is left alone for the first delay", (retryAfterMs) => {
  expect(afterFault(after(1), fault({ retryAfterMs }), MOST)).toEqual({ do: "wait", ms: 250 });
});

test.each([
  [600_000, 600_000],
  [0, 0],
  [null, 24 * 3_600_000],
])("with the ceiling %s no delay is longer than %s ms", (retryAfterMaxMs, ms) => {
  const told = fault({ retryAfterMs: 1e15 });
  expect(afterFault(after(1, { retryAfterMaxMs }), told, MOST)).toEqual({ do: "wait", ms });
});

describe("giving up", () => {
  const stopped = { do: "stop", stop: { status: "blocked", reason: "provider_unavailable" } };

  test.each([
    [3, 3, "wait"],
    [4, 3, "stop"],
    [1, 0, "stop"],
    [400, null, "wait"],
  ])("fault %d with %s retries allowed: %s", (faults, providerRetries, does) => {
    expect(afterFault(after(faults, { providerRetries }), fault(), MOST).do).toBe(does);
  });

  test("a final fault is not tried again", () => {
    expect(afterFault(after(1), fault({ kind: "final" }), MOST)).toMatchObject(stopped);
  });

  test.each([
    ["final", 1],
    ["retry", 4],
  ] as const)("a %s fault, number %d, goes to the fallback model if there is one", (kind, n) => {
    const then = afterFault(after(n), fault({ kind }), { ...MOST, hasFallback: true });
    expect(then).toEqual({ do: "fall_back", why: "status 503" });
  });

  test("a refusal for what was said is a person's, whatever other model there is", () => {
    const then = afterFault(after(1), fault({ kind: "content" }), { ...MOST, hasFallback: true });
    expect(then).toMatchObject({ stop: { status: "handoff", reason: "model_refused" } });
  });

  test("waiting for other runs' rate limits has the same ceiling in all", () => {
    const held = (gatedMs: number) => ({ ...after(0), retry: { faults: 0, gatedMs } });
    expect(afterGate(held(590_000), 10_000, false)).toEqual({ do: "wait", ms: 10_000 });
    expect(afterGate(held(590_001), 10_000, false)).toMatchObject(stopped);
    expect(afterGate(held(590_001), 10_000, true)).toMatchObject({ do: "fall_back" });
  });
});
