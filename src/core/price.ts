/**
 * What a model's tokens cost: integer micro-USD per million tokens, dearer above a length of input
 * where the provider says so. Money is computed here and nowhere else.
 */
import { z } from "zod";
import type { Usage } from "./decision.ts";

const rate = z.int().min(0);

const rates = {
  inputMicroUsdPerMTok: rate,
  cachedMicroUsdPerMTok: rate,
  cacheWriteMicroUsdPerMTok: rate,
  outputMicroUsdPerMTok: rate,
};

/** One tier holds for a whole call, output included: the one of the greatest bound passed. */
export const priceSchema = z.strictObject({
  ...rates,
  tiers: z.array(z.strictObject({ aboveInputTokens: z.int().min(0), ...rates })).optional(),
});
/** Null stands for a model that costs nothing. */
export type Price = z.infer<typeof priceSchema>;
export type Rates = Omit<Price, "tiers">;

const PER_MTOK = 1_000_000;

/** The rates of a call with so many input tokens. */
function ratesFor(price: Price, inputTokens: number): Rates {
  let found: Rates = price;
  let bound = -1;
  for (const tier of price.tiers ?? []) {
    if (inputTokens <= tier.aboveInputTokens || tier.aboveInputTokens <= bound) continue;
    found = tier;
    bound = tier.aboveInputTokens;
  }
  return found;
}

/** Integer micro-USD of one call, rounded up once; each token is counted once, at its own price. */
export function costOf(usage: Usage, price: Price | null): number {
  if (price === null) return 0;
  const of = ratesFor(price, usage.input);
  const plain = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  const micro =
    plain * of.inputMicroUsdPerMTok +
    usage.cached * of.cachedMicroUsdPerMTok +
    usage.cacheWrite * of.cacheWriteMicroUsdPerMTok +
    usage.output * of.outputMicroUsdPerMTok;
  return Math.ceil(micro / PER_MTOK);
}

/**
 * The most that a call can cost whose input has at most so many tokens: nobody knows beforehand
 * which of them the server reads from its cache or writes to it, or which tier is reached in the
 * end.
 */
export function worstCost(inputTokens: number, outputTokens: number, price: Price | null): number {
  if (price === null) return 0;
  const worst = worstRates(price, inputTokens);
  return Math.ceil((inputTokens * worst.input + outputTokens * worst.output) / PER_MTOK);
}

/** The most output tokens that so much money (micro-USD) pays for; below 0: not even the input. */
export function outputFor(money: number, inputTokens: number, price: Price): number {
  const worst = worstRates(price, inputTokens);
  const rest = money * PER_MTOK - inputTokens * worst.input;
  if (worst.output === 0) return rest >= 0 ? Number.POSITIVE_INFINITY : -1;
  return Math.floor(rest / worst.output);
}

function worstRates(price: Price, inputTokens: number): { input: number; output: number } {
  const reachable = [
    price,
    ...(price.tiers ?? []).filter((tier) => inputTokens > tier.aboveInputTokens),
  ];
  return {
    input: Math.max(
      ...reachable.flatMap((r) => [
        r.inputMicroUsdPerMTok,
        r.cachedMicroUsdPerMTok,
        r.cacheWriteMicroUsdPerMTok,
      ]),
    ),
    output: Math.max(...reachable.map((r) => r.outputMicroUsdPerMTok)),
  };
}
