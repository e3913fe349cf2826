/**
 * `npm run prices`: writes the dated table that stands in where the price library has no answer,
 * from the library itself as it is installed now: OpenAI's models that take and give text.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { findProvider } from "@pydantic/genai-prices";
import type { Price } from "../src/core/price.ts";
import { OPENAI_URL, priceOf } from "../src/providers/pricing.ts";

const TEXT_MODEL = /^(gpt|o)-?\d/;
const OTHER_KIND = /(audio|realtime|image|transcribe|tts|search|instruct|preview)/;

const date = new Date();
const { version } = JSON.parse(
  readFileSync(
    new URL("../node_modules/@pydantic/genai-prices/package.json", import.meta.url),
    "utf8",
  ),
) as { version: string };
const models: Record<string, Price> = {};
for (const { id, deprecated } of findProvider({ providerId: "openai" })?.models ?? []) {
  if (!TEXT_MODEL.test(id) || OTHER_KIND.test(id) || deprecated === true) continue;
  const answer = await priceOf({ model: id, at: date });
  if (answer.known) models[id] = answer.price;
}
const table = {
  date: date.toISOString().slice(0, 10),
  source: `@pydantic/genai-prices ${version} (MIT), OpenAI's own API, micro-USD per million tokens`,
  apiUrl: OPENAI_URL.replace(/\/v1$/, ""),
  models,
};
writeFileSync(
  new URL("../src/providers/price-table.json", import.meta.url),
  `${JSON.stringify(table, null, 2)}\n`,
);
console.log(`${Object.keys(models).length} models`);
