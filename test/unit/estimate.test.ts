import { describe, expect, test } from "vitest";
import { estimateCost } from "../../src/core/estimate.ts";
import type { Event } from "../../src/core/event.ts";
import { measureRun, type Counting } from "../../src/core/measure.ts";
import { DEFAULT_LIMITS } from "../../src/core/run-state.ts";
import { orderDomain } from "../support/order-agent.ts";
import { PRICE } from "../support/price.ts";
import { acceptedEvent, AT, callOf } from "../support/run-fixture.ts";

const calls = (...inputs: readonly number[]) =>
  inputs.map((input, i) => ({ step: i + 1, input, output: 100 }));
const LIMITS = { ...DEFAULT_LIMITS, steps: 6, providerRetries: 3 };
/** Micro-USD of a call with so many thousand input tokens and 100 output tokens. */
const costOfCall = (thousands: number): number => thousands * 3_000 + 1_500;

describe("estimateCost", () => {
  test("calls, context and cost have a mean, a 95th percentile and a most", () => {
    const runs = [calls(1_000), calls(1_000, 2_000, 3_000)];
    expect(estimateCost(runs, PRICE, LIMITS)).toMatchObject({
      runs: 2,
      callsPerRun: { mean: 2, p95: 3, most: 3 },
      inputPerCall: { mean: 1_750, p95: 3_000, most: 3_000 },
      outputPerCall: { mean: 100, p95: 100, most: 100 },
      costPerRun: {
        mean: (costOfCall(1) * 2 + costOfCall(2) + costOfCall(3)) / 2,
        most: costOfCall(1) + costOfCall(2) + costOfCall(3),
      },
    });
  });

  test("the 95th percentile leaves out one run of forty, and the most does not", () => {
    const runs = [...Array.from({ length: 39 }, () => calls(1_000)), calls(100_000)];
    const { costPerRun } = estimateCost(runs, PRICE, LIMITS);
    expect(costPerRun.p95).toBe(costOfCall(1));
    expect(costPerRun.most).toBe(costOfCall(100));
  });

  test("the worst case is every step, every attempt, the largest context, a full output", () => {
    const { worst } = estimateCost([calls(1_000, 2_000)], PRICE, LIMITS);
    expect(worst).toMatchObject({ by: "steps", calls: 6, attempts: 4, inputPerCall: 2_000 });
    expect(worst.microUsd).toBe(6 * 4 * (2_000 * 3.75 + 1_000 * 15));
  });

  test.each([
    [{ moneyMicroUsd: 5_000 }, "money", 5_000],
    [{ moneyMicroUsd: 0 }, "money", 0],
    [{ tokens: 1_000 }, "tokens", 15_000],
    [{ steps: null }, null, null],
    [{ providerRetries: null }, null, null],
    [{ steps: null, moneyMicroUsd: 7 }, "money", 7],
  ])("with %j it is bound by %s at %s micro-USD", (changes, by, microUsd) => {
    const { worst } = estimateCost([calls(1_000)], PRICE, { ...LIMITS, ...changes });
    expect(worst).toMatchObject({ by, microUsd });
  });

  test("one run says nothing of the range, many equal ones say it exactly", () => {
    expect(estimateCost([calls(1_000)], PRICE, LIMITS).meanRange).toBeNull();
    const same = Array.from({ length: 30 }, () => calls(1_000));
    const { meanRange, sure } = estimateCost(same, PRICE, LIMITS);
    expect(meanRange).toEqual({ low: costOfCall(1), high: costOfCall(1) });
    expect(sure).toBe("fair");
  });

  test("the range narrows with the number of runs", () => {
    const of = (n: number) =>
      Array.from({ length: n }, (_, i) => calls(i % 2 === 0 ? 1_000 : 3_000));
    const width = (n: number): number => {
      const range = estimateCost(of(n), PRICE, LIMITS).meanRange;
      return (range?.high ?? 0) - (range?.low ?? 0);
    };
    expect(width(100)).toBeLessThan(width(10));
    expect(width(10)).toBeGreaterThan(0);
    expect(estimateCost(of(300), PRICE, LIMITS).sure).toBe("good");
    expect(estimateCost(of(29), PRICE, LIMITS).sure).toBe("low");
  });
});

describe("measureRun", () => {
  const { agent } = orderDomain();
  const usage = { input: 777, cached: 0, cacheWrite: 0, output: 7, reasoning: 0 };
  const decided = (step: number, source: "model" | "kept"): Event => ({
    type: "decided",
    at: AT,
    step,
    source,
    model: "m",
    finish: "tool_calls",
    text: null,
    calls: [callOf("get_order", { orderId: "A-1" })],
    usage: source === "kept" ? null : usage,
    moneyMicroUsd: 0,
    contextTokens: null,
    ms: 1,
  });
  const events: Event[] = [
    acceptedEvent(agent),
    { type: "started", at: AT, step: 1 },
    decided(1, "model"),
    { type: "step_ended", at: AT, step: 1, ms: 1 },
    decided(2, "kept"),
    { type: "step_ended", at: AT, step: 2, ms: 1 },
    decided(3, "model"),
  ];
  const counting: Counting = {
    text: (text) => text.length,
    context: ({ messages }) => messages.length,
    isUsageReal: true,
  };

  test("a real model's usage is what it told, and a kept call is none", () => {
    expect(measureRun(events, agent, counting)).toEqual([
      { step: 1, input: 777, output: 7 },
      { step: 3, input: 777, output: 7 },
    ]);
  });

  test("a scripted usage is counted anew, from the context of its moment", () => {
    const scripted = { ...counting, isUsageReal: false };
    const as = (context: "state" | "transcript") =>
      measureRun(events, agent, { ...scripted, as: context }).map((call) => call.input);
    // Ticket and state; the transcript adds the first decision and the result of its call.
    expect(as("state")).toEqual([2, 2]);
    expect(as("transcript")).toEqual([2, 4]);
    expect(measureRun(events, agent, scripted)[0]?.output).toBeGreaterThan(20);
  });
});
