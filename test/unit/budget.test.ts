import { describe, expect, test } from "vitest";
import {
  exhausted,
  isLastStep,
  MIN_OUTPUT_TOKENS,
  msLeft,
  OUTPUT_CAP_TOKENS,
  reserve,
  runningMs,
} from "../../src/core/budget.ts";
import { NO_USAGE } from "../../src/core/decision.ts";
import { costOf } from "../../src/core/price.ts";
import type { Limits, RunState } from "../../src/core/run-state.ts";
import { orderDomain } from "../support/order-agent.ts";
import { PRICE } from "../support/price.ts";
import { AT, callOf, runningState, turnOf } from "../support/run-fixture.ts";

function setup(limits: Partial<Limits> = {}, changes: Partial<RunState> = {}) {
  const state = runningState(orderDomain().agent, changes);
  return { ...state, limits: { ...state.limits, ...limits } };
}

const spent = (steps: number, tokens = 0, moneyMicroUsd = 0) => ({
  spent: { steps, tokens, moneyMicroUsd },
});

describe("exhausted", () => {
  test.each([
    ["steps", "max_steps_exceeded", (n: number) => spent(n)],
    ["tokens", "tokens_exceeded", (n: number) => spent(0, n)],
    ["moneyMicroUsd", "money_exceeded", (n: number) => spent(0, 0, n)],
  ] as const)("%s: one below goes on, equal and one above stop", (name, reason, spentOf) => {
    expect(exhausted(setup({ [name]: 10 }, spentOf(9)), AT)).toBeNull();
    expect(exhausted(setup({ [name]: 10 }, spentOf(10)), AT)).toMatchObject({ reason });
    expect(exhausted(setup({ [name]: 10 }, spentOf(11)), AT)).toMatchObject({ reason });
    expect(exhausted(setup({ [name]: null }, spentOf(1e9)), AT)).toBeNull();
  });

  test("time: one ms below goes on, equal and one above stop", () => {
    const state = setup({ timeMs: 1_000 });
    expect(exhausted(state, AT + 999)).toBeNull();
    expect(exhausted(state, AT + 1_000)).toMatchObject({ reason: "time_exceeded" });
    expect(exhausted(state, AT + 1_001)).toMatchObject({ reason: "time_exceeded" });
    expect(exhausted(setup({ timeMs: null }), AT + 1e12)).toBeNull();
  });

  test("zero steps and zero time stop before anything is done", () => {
    expect(exhausted(setup({ steps: 0 }), AT)).toMatchObject({ reason: "max_steps_exceeded" });
    expect(exhausted(setup({ timeMs: 0 }), AT)).toMatchObject({ reason: "time_exceeded" });
  });

  test("zero money stops nothing that costs nothing, zero tokens refuses the call", () => {
    expect(exhausted(setup({ moneyMicroUsd: 0 }), AT)).toBeNull();
    expect(reserve(setup({ moneyMicroUsd: 0 }), 500, null)).toMatchObject({ ok: true });
    expect(reserve(setup({ tokens: 0 }), 0, null)).toMatchObject({
      stop: { reason: "tokens_exceeded" },
    });
    expect(reserve(setup({ moneyMicroUsd: 0 }), 1, PRICE)).toMatchObject({
      stop: { reason: "money_exceeded" },
    });
  });

  test("of several, money comes first, then tokens, time, steps", () => {
    const limits = { steps: 1, tokens: 1, moneyMicroUsd: 1, timeMs: 1 };
    const late = AT + 5;
    expect(exhausted(setup(limits, spent(1, 1, 1)), late)?.reason).toBe("money_exceeded");
    expect(exhausted(setup(limits, spent(1, 1, 0)), late)?.reason).toBe("tokens_exceeded");
    expect(exhausted(setup(limits, spent(1, 0, 0)), late)?.reason).toBe("time_exceeded");
    expect(exhausted(setup(limits, spent(1, 0, 0)), AT)?.reason).toBe("max_steps_exceeded");
  });
});

describe("the last step", () => {
  test("before and after its decision it is the same step", () => {
    const turn = turnOf([callOf("get_order", { orderId: "A-1" })]);
    expect(isLastStep(setup({ steps: 3 }, spent(1)))).toBe(false);
    expect(isLastStep(setup({ steps: 3 }, spent(2)))).toBe(true);
    expect(isLastStep(setup({ steps: 3 }, { ...spent(2), turn }))).toBe(false);
    expect(isLastStep(setup({ steps: 3 }, { ...spent(3), turn }))).toBe(true);
    expect(isLastStep(setup({ steps: null }, spent(1e6)))).toBe(false);
  });
});

describe("running time", () => {
  test("time in the queue and time parked do not count", () => {
    expect(runningMs(setup({}, { status: "queued" }), AT + 5_000)).toBe(0);
    const clock = { startedAt: AT, parkedMs: 300 };
    expect(runningMs(setup({}, { clock }), AT + 1_000)).toBe(700);
    const waiting = { for: "user_reply" as const, since: AT + 600, until: null };
    expect(runningMs(setup({}, { clock, waiting }), AT + 1_000)).toBe(300);
  });

  test("a clock that went backwards gives no negative time", () => {
    expect(runningMs(setup(), AT - 1)).toBe(0);
    expect(msLeft(setup({ timeMs: 100 }), AT - 1)).toBe(100);
    expect(msLeft(setup({ timeMs: null }), AT)).toBeNull();
  });
});

describe("reserve", () => {
  test("without limits the usual output is allowed and the worst case reserved", () => {
    expect(reserve(setup(), 500, PRICE)).toEqual({
      ok: true,
      outputCap: OUTPUT_CAP_TOKENS,
      amount: { tokens: 1_500, moneyMicroUsd: 500 * 3.75 + 1_000 * 15 },
    });
  });

  test.each([
    [MIN_OUTPUT_TOKENS - 1, { ok: false, stop: { reason: "tokens_exceeded" } }],
    [MIN_OUTPUT_TOKENS, { ok: true, outputCap: MIN_OUTPUT_TOKENS }],
    [MIN_OUTPUT_TOKENS + 1, { ok: true, outputCap: MIN_OUTPUT_TOKENS + 1 }],
  ])("with %i output tokens left: %j", (left, reservation) => {
    const state = setup({ tokens: 1_000 }, spent(1, 500));
    expect(reserve(state, 500 - left, null)).toMatchObject(reservation);
  });

  test("the output cap is lowered to what the money pays for", () => {
    const reservation = reserve(setup({ moneyMicroUsd: 375 + 1_500 }), 100, PRICE);
    expect(reservation).toEqual({
      ok: true,
      outputCap: 100,
      amount: { tokens: 200, moneyMicroUsd: 1_875 },
    });
    expect(reserve(setup({ moneyMicroUsd: 375 + 959 }), 100, PRICE)).toMatchObject({
      stop: { reason: "money_exceeded" },
    });
    expect(reserve(setup({ moneyMicroUsd: 375 + 960 }), 100, PRICE)).toMatchObject({
      outputCap: 64,
    });
  });

  test("a reservation that still stands is lost and counts", () => {
    const reserved = { tokens: 900, moneyMicroUsd: 0 };
    expect(reserve(setup({ tokens: 1_000 }, { reserved }), 50, null)).toMatchObject({ ok: false });
    expect(reserve(setup({ tokens: 2_000 }, { reserved }), 50, null)).toMatchObject({
      outputCap: 1_000,
    });
  });

  test("whatever the call may cost was reserved, cache writes too", () => {
    const reservation = reserve(setup(), 1_000, PRICE);
    if (!reservation.ok) throw new Error("refused");
    const usage = { ...NO_USAGE, input: 1_000, cacheWrite: 1_000, output: reservation.outputCap };
    expect(costOf(usage, PRICE)).toBeLessThanOrEqual(reservation.amount.moneyMicroUsd);
  });

  describe("from a tenant's day", () => {
    const day = { tenant: "acme", tokens: null, moneyMicroUsd: null };

    test("the smaller of what the run and the day have left caps the output", () => {
      const money = { ...day, moneyMicroUsd: 375 + 1_500 };
      expect(reserve(setup(), 100, PRICE, money)).toMatchObject({ outputCap: 100 });
      const tokens = { ...day, tokens: 250 };
      expect(reserve(setup({ tokens: 300 }), 100, null, tokens)).toMatchObject({ outputCap: 150 });
      expect(reserve(setup({ tokens: 200 }), 100, null, tokens)).toMatchObject({ outputCap: 100 });
    });

    test("a stop names the tenant whose day is over", () => {
      const over = { ...day, moneyMicroUsd: 0 };
      const stopped = reserve(setup(), 100, PRICE, over);
      expect(stopped).toMatchObject({ ok: false, stop: { reason: "money_exceeded" } });
      expect(JSON.stringify(stopped)).toContain("tenant acme");
      const reason = { stop: { reason: "tokens_exceeded" } };
      expect(reserve(setup(), 100, null, { ...day, tokens: 163 })).toMatchObject(reason);
    });

    test("a day without limits changes nothing", () => {
      expect(reserve(setup(), 100, PRICE, day)).toEqual(reserve(setup(), 100, PRICE));
    });
  });

  test("free output is allowed as long as the input is paid for", () => {
    const free = { ...PRICE, outputMicroUsdPerMTok: 0 };
    expect(reserve(setup({ moneyMicroUsd: 375 }), 100, free)).toMatchObject({ ok: true });
    expect(reserve(setup({ moneyMicroUsd: 374 }), 100, free)).toMatchObject({ ok: false });
  });
});
