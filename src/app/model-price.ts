/** What a model costs as this installation is configured: own prices, address and service tier. */
import { priceOf, type PriceAnswer } from "../providers/pricing.ts";
import { systemClock } from "./clock.ts";
import { readPrices } from "./config-files.ts";
import type { Config } from "./config.ts";

/** Reads the file of own prices once; the tier is the configured one where none is given. */
export function priceReader(
  config: Config,
): (model: string, serviceTier?: string | null) => Promise<PriceAnswer> {
  const overrides = readPrices(config);
  const { OPENAI_BASE_URL: baseUrl, PAWL_SERVICE_TIER } = config;
  const at = new Date(systemClock.now());
  return (model, serviceTier) =>
    priceOf({ model, baseUrl, serviceTier: serviceTier ?? PAWL_SERVICE_TIER, overrides, at });
}
