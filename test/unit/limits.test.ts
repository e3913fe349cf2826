import { describe, expect, test } from "vitest";
import { PawlError } from "../../src/core/errors.ts";
import { limitsFor } from "../../src/core/limits.ts";
import { DEFAULT_LIMITS } from "../../src/core/run-state.ts";

const agent = {
  name: "orders",
  limits: { ...DEFAULT_LIMITS, steps: 6, tokens: 9_000 },
  ceiling: { steps: 10, moneyMicroUsd: 500 },
};

function refusalOf(given: Parameters<typeof limitsFor>[1]): PawlError {
  try {
    limitsFor(agent, given);
  } catch (error) {
    if (error instanceof PawlError) return error;
  }
  throw new Error("it was not refused");
}

describe("limitsFor", () => {
  test("the run's own go before the tenant's, and those before the agent's", () => {
    const tenant = { steps: 4, tokens: 100 };
    expect(limitsFor(agent, { tenant, run: { tokens: 50 } })).toMatchObject({
      steps: 4,
      tokens: 50,
      timeMs: DEFAULT_LIMITS.timeMs,
    });
    expect(limitsFor(agent, {})).toEqual(agent.limits);
    expect(limitsFor(agent, { tenant: { steps: undefined } })).toEqual(agent.limits);
  });

  test.each([9, 10, 0])("%i steps are within a ceiling of 10", (steps) => {
    expect(limitsFor(agent, { run: { steps } }).steps).toBe(steps);
  });

  test.each([
    ["run", { steps: 11 }, "/limits/steps"],
    ["run", { steps: null }, "/limits/steps"],
    ["tenant", { moneyMicroUsd: 501 }, "/limits/moneyMicroUsd"],
  ])("the %s's %j is above it", (by, limits, path) => {
    const refusal = refusalOf({ [by]: limits });
    expect(refusal).toMatchObject({ code: "PAWL_LIMIT_ABOVE_CEILING", path });
    expect(refusal.message).toContain(by);
  });

  test("a limit without a ceiling may be lifted", () => {
    expect(limitsFor(agent, { run: { tokens: null } }).tokens).toBeNull();
  });
});
