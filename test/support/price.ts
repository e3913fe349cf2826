import type { Price } from "../../src/core/price.ts";

/** Four prices that no sum of others hides. */
export const PRICE: Price = {
  inputMicroUsdPerMTok: 3_000_000,
  cachedMicroUsdPerMTok: 300_000,
  cacheWriteMicroUsdPerMTok: 3_750_000,
  outputMicroUsdPerMTok: 15_000_000,
};
