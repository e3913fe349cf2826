import { describe, expect, test } from "vitest";
import { NO_USAGE, type Usage } from "../../src/core/decision.ts";
import { costOf, outputFor, worstCost, type Price } from "../../src/core/price.ts";
import { PRICE } from "../support/price.ts";

const usage = (changes: Partial<Usage>): Usage => ({ ...NO_USAGE, ...changes });

describe("costOf", () => {
  const M = 1_000_000;

  test("each token is priced once, by what it was", () => {
    const all = usage({ input: 3 * M, cached: M, cacheWrite: M, output: 2 * M, reasoning: M });
    expect(costOf(all, PRICE)).toBe(3_000_000 + 300_000 + 3_750_000 + 2 * 15_000_000);
  });

  test("a part of a micro-USD is rounded up, once", () => {
    expect(costOf(usage({ input: 1 }), { ...PRICE, inputMicroUsdPerMTok: 1 })).toBe(1);
    const cheap = { ...PRICE, inputMicroUsdPerMTok: 1, outputMicroUsdPerMTok: 1 };
    expect(costOf(usage({ input: 1, output: 1 }), cheap)).toBe(1);
    expect(costOf(NO_USAGE, PRICE)).toBe(0);
  });

  test("parts that add up to more than the input are not paid back", () => {
    expect(costOf(usage({ input: 10, cached: 20 }), { ...PRICE, cachedMicroUsdPerMTok: 0 })).toBe(
      0,
    );
  });

  test("a model without a price costs nothing", () => {
    expect(costOf(usage({ input: M, output: M }), null)).toBe(0);
  });
});

describe("a price with tiers", () => {
  const tiered: Price = {
    ...PRICE,
    tiers: [
      { ...PRICE, aboveInputTokens: 200, outputMicroUsdPerMTok: 60_000_000 },
      { ...PRICE, aboveInputTokens: 100, outputMicroUsdPerMTok: 30_000_000 },
    ],
  };

  test.each([
    [99, 15_000_000],
    [100, 15_000_000],
    [101, 30_000_000],
    [200, 30_000_000],
    [201, 60_000_000],
  ])("the whole call of %i input tokens has the rates of its tier", (input, perMTok) => {
    const call = usage({ input, output: 1_000_000 });
    expect(costOf(call, tiered)).toBe(perMTok + input * 3);
  });

  test("the worst case takes the dearest rate of every tier that can be reached", () => {
    const dip = { ...tiered, tiers: [{ ...PRICE, aboveInputTokens: 10, inputMicroUsdPerMTok: 0 }] };
    expect(worstCost(100, 0, dip)).toBe(375);
    expect(worstCost(100, 10, tiered)).toBe(375 + 150);
    expect(worstCost(101, 10, tiered)).toBe(Math.ceil(101 * 3.75) + 300);
  });

  test("a cached token dearer than a plain one is reserved for", () => {
    expect(worstCost(1, 0, { ...PRICE, cachedMicroUsdPerMTok: 9_000_000 })).toBe(9);
  });
});

describe("outputFor", () => {
  test("money that does not pay for the input pays for no output", () => {
    expect(outputFor(374, 100, PRICE)).toBeLessThan(0);
    expect(outputFor(375, 100, PRICE)).toBe(0);
    expect(outputFor(375 + 15, 100, PRICE)).toBe(1);
  });
});
