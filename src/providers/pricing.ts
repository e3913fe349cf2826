/**
 * What a model costs, asked once at start: the operator's own price, else the price library's,
 * else the dated table beside this file. Rates are integers from here on; no step asks again.
 */
import { readFileSync } from "node:fs";
import type { ModelPrice, TieredPrices } from "@pydantic/genai-prices";
import { z } from "zod";
import { priceSchema, type Price, type Rates } from "../core/price.ts";

export interface PriceQuery {
  readonly model: string;
  /** Undefined: OpenAI's own API. Who serves a model says what it costs, not its name. */
  readonly baseUrl?: string | undefined;
  /** Undefined: `default`. */
  readonly serviceTier?: string | undefined;
  /** The operator's prices by model; these are final, so no tier's factor is applied. */
  readonly overrides?: PriceTable | undefined;
  /** The day whose prices hold. */
  readonly at: Date;
}

export type PriceTable = Readonly<Record<string, Price>>;

export type PriceAnswer =
  | { readonly known: true; readonly price: Price; readonly source: string }
  /** `why` names the model and what is missing. */
  | { readonly known: false; readonly why: string };

export const OPENAI_URL = "https://api.openai.com/v1";

/** In percent of the plain price; OpenAI's pricing page, 2026-12. Others have no fixed factor. */
const TIER_PERCENT: Readonly<Record<string, number>> = { default: 100, flex: 50, batch: 50 };

const tableSchema = z.strictObject({
  date: z.iso.date(),
  source: z.string(),
  apiUrl: z.string(),
  models: z.record(z.string(), priceSchema),
});

/** Snapshots are priced as their model: gpt-4o-2024-08-06 as gpt-4o. */
const SNAPSHOT = /-\d{4}-\d{2}-\d{2}$/;

export async function priceOf(query: PriceQuery): Promise<PriceAnswer> {
  const { model, overrides = {}, serviceTier = "default" } = query;
  if (Object.hasOwn(overrides, model)) {
    return { known: true, price: overrides[model] as Price, source: "configuration" };
  }
  const percent = Object.hasOwn(TIER_PERCENT, serviceTier) ? TIER_PERCENT[serviceTier] : undefined;
  if (percent === undefined) {
    const tiers = Object.keys(TIER_PERCENT).join(", ");
    return unknown(model, `the factor of service tier ${serviceTier} is not; known are ${tiers}`);
  }
  const found = (await fromLibrary(query)) ?? fromTable(query);
  if (found === null) {
    return unknown(model, `neither the price library nor the table has it at this address`);
  }
  return { known: true, price: scaled(found.price, percent), source: found.source };
}

function unknown(model: string, why: string): PriceAnswer {
  return { known: false, why: `the price of ${model} is not known: ${why}` };
}

interface Found {
  readonly price: Price;
  readonly source: string;
}

/** Loaded here only: a worker that has no model never pays for the library's start. */
async function fromLibrary({ model, baseUrl = OPENAI_URL, at }: PriceQuery): Promise<Found | null> {
  const { calcPrice } = await import("@pydantic/genai-prices");
  const answer = calcPrice({}, model, { providerApiUrl: baseUrl, timestamp: at });
  if (answer === null) return null;
  const price = priceFrom(answer.model_price);
  return price === null ? null : { price, source: `price library, as ${answer.model.id}` };
}

/**
 * Takes a price of the library in USD per million tokens; null where a text call has a price that
 * is not per token, since it could not be counted.
 */
export function priceFrom(given: ModelPrice): Price | null {
  const { input_mtok: input, output_mtok: output } = given;
  if (input === undefined || output === undefined || given["requests_kcount"] !== undefined) {
    return null;
  }
  const at = (length: number): Rates => ({
    inputMicroUsdPerMTok: microAt(input, length),
    cachedMicroUsdPerMTok: microAt(given["cache_read_mtok"] ?? input, length),
    cacheWriteMicroUsdPerMTok: microAt(given["cache_write_mtok"] ?? input, length),
    outputMicroUsdPerMTok: microAt(output, length),
  });
  const bounds = [...new Set(Object.values(given).flatMap(boundsOf))].sort((a, b) => a - b);
  if (bounds.length === 0) return at(0);
  return {
    ...at(0),
    tiers: bounds.map((bound) => ({ aboveInputTokens: bound, ...at(bound + 1) })),
  };
}

function boundsOf(rate: number | TieredPrices | undefined): number[] {
  return typeof rate === "object" ? rate.tiers.map((tier) => tier.start) : [];
}

/** USD per million tokens at a length of input, as integer micro-USD, never rounded down. */
function microAt(rate: number | TieredPrices, length: number): number {
  const tier = typeof rate === "object" ? rate.tiers.filter((t) => length > t.start).at(-1) : null;
  const usd = typeof rate === "object" ? (tier?.price ?? rate.base) : rate;
  // 0.075 * 1e6 is 75000 and 0.29 * 1e6 is 289999.99…: what is within a billionth is that integer.
  const micro = usd * 1_000_000;
  const near = Math.round(micro);
  return Math.abs(micro - near) < 1e-3 ? near : Math.ceil(micro);
}

let readTable: z.infer<typeof tableSchema> | undefined;

function fromTable({ model, baseUrl = OPENAI_URL }: PriceQuery): Found | null {
  readTable ??= tableSchema.parse(
    JSON.parse(readFileSync(new URL("./price-table.json", import.meta.url), "utf8")),
  );
  const { date, apiUrl, models } = readTable;
  if (!URL.canParse(baseUrl) || new URL(baseUrl).origin !== apiUrl) return null;
  const name = Object.hasOwn(models, model) ? model : model.replace(SNAPSHOT, "");
  const price = Object.hasOwn(models, name) ? models[name] : undefined;
  return price === undefined ? null : { price, source: `table of ${date}, as ${name}` };
}

function scaled(price: Price, percent: number): Price {
  if (percent === 100) return price;
  const of = (r: Rates): Rates => ({
    inputMicroUsdPerMTok: Math.ceil((r.inputMicroUsdPerMTok * percent) / 100),
    cachedMicroUsdPerMTok: Math.ceil((r.cachedMicroUsdPerMTok * percent) / 100),
    cacheWriteMicroUsdPerMTok: Math.ceil((r.cacheWriteMicroUsdPerMTok * percent) / 100),
    outputMicroUsdPerMTok: Math.ceil((r.outputMicroUsdPerMTok * percent) / 100),
  });
  const tiers = price.tiers?.map((tier) => ({
    ...of(tier),
    aboveInputTokens: tier.aboveInputTokens,
  }));
  return { ...of(price), ...(tiers === undefined ? {} : { tiers }) };
}
