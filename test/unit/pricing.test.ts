import { readFileSync } from "node:fs";
import { calcPrice, extractUsage, findProvider } from "@pydantic/genai-prices";
import { describe, expect, test } from "vitest";
import { costOf, priceSchema, type Price } from "../../src/core/price.ts";
import { readUsage } from "../../src/providers/wire-usage.ts";
import { priceFrom, priceOf } from "../../src/providers/pricing.ts";

const AT = new Date("2026-12-01T00:00:00Z");

async function known(model: string, more: object = {}): Promise<Price> {
  const answer = await priceOf({ model, at: AT, ...more });
  if (!answer.known) throw new Error(answer.why);
  return answer.price;
}

describe("recorded answers", () => {
  interface Answer {
    readonly file: string;
    readonly index: number;
    readonly path: string;
    readonly model: string;
    readonly usage: unknown;
  }
  const recorded = readFileSync(new URL("../fixtures/openai/usage.json", import.meta.url), "utf8");
  const { answers } = JSON.parse(recorded) as { answers: readonly Answer[] };

  test.each(answers)("$file $index costs what the library says", async (answer) => {
    const provider = findProvider({ providerId: "openai" });
    if (provider === undefined) throw new Error("the library has no OpenAI");
    const flavor = answer.path.includes("chat") ? "chat" : "responses";
    const theirs = extractUsage(provider, answer, flavor);
    const usd = calcPrice(theirs.usage, answer.model, { providerId: "openai", timestamp: AT });
    const ours = readUsage(answer.usage);
    if (usd === null || ours === null) throw new Error("no price");
    const micro = costOf(ours, await known(answer.model));
    expect(micro - usd.total_price * 1_000_000).toBeGreaterThan(-1e-6);
    expect(micro - usd.total_price * 1_000_000).toBeLessThan(1);
    // Cached, written and reasoning tokens are parts: counted once.
    expect(ours.input).toBe(theirs.usage["input_tokens"]);
    expect(ours.output).toBe(theirs.usage["output_tokens"]);
  });

  test("some of them read from the cache, some wrote to it, some reasoned", () => {
    const usages = answers.map(({ usage }) => readUsage(usage));
    expect(usages.some((usage) => (usage?.cached ?? 0) > 0)).toBe(true);
    expect(usages.some((usage) => (usage?.cacheWrite ?? 0) > 0)).toBe(true);
    expect(usages.some((usage) => (usage?.reasoning ?? 0) > 0)).toBe(true);
  });
});

describe("readUsage", () => {
  test.each([
    [null],
    [undefined],
    ["none"],
    [{}],
    [{ prompt_tokens: 3 }],
    [{ input_tokens: -1, output_tokens: 1 }],
  ])("%j is no usage", (usage) => {
    expect(readUsage(usage)).toBeNull();
  });

  test("details may be null or left out", () => {
    const plain = { input: 5, cached: 0, cacheWrite: 0, output: 2, reasoning: 0 };
    expect(readUsage({ input_tokens: 5, output_tokens: 2 })).toEqual(plain);
    expect(
      readUsage({
        prompt_tokens: 5,
        completion_tokens: 2,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: null },
      }),
    ).toEqual(plain);
  });

  test("a part larger than its whole is cut to it", () => {
    const details = { cached_tokens: 8, cache_write_tokens: 9 };
    expect(
      readUsage({ input_tokens: 10, output_tokens: 1, input_tokens_details: details }),
    ).toEqual({ input: 10, cached: 8, cacheWrite: 2, output: 1, reasoning: 0 });
  });
});

describe("priceOf", () => {
  test("rates are integers per million tokens, cheaper ones for cached input", async () => {
    expect(await known("gpt-5.4-mini")).toEqual({
      inputMicroUsdPerMTok: 750_000,
      cachedMicroUsdPerMTok: 75_000,
      cacheWriteMicroUsdPerMTok: 750_000,
      outputMicroUsdPerMTok: 4_500_000,
    });
  });

  test("a longer context is a tier for input, cached input and output", async () => {
    const { tiers } = await known("gpt-5.4");
    expect(tiers).toEqual([
      {
        aboveInputTokens: 271_999,
        inputMicroUsdPerMTok: 5_000_000,
        cachedMicroUsdPerMTok: 500_000,
        cacheWriteMicroUsdPerMTok: 5_000_000,
        outputMicroUsdPerMTok: 22_500_000,
      },
    ]);
  });

  test("each side of a tier costs what the library says", async () => {
    const price = await known("gpt-5.6-sol");
    for (const input of [271_998, 271_999, 272_000, 272_001]) {
      const usage = { input, cached: 1_000, cacheWrite: 2_000, output: 500, reasoning: 0 };
      const theirs = calcPrice(
        {
          input_tokens: input,
          cache_read_tokens: 1_000,
          cache_write_tokens: 2_000,
          output_tokens: 500,
        },
        "gpt-5.6-sol",
        { providerId: "openai", timestamp: AT },
      );
      const micro = (theirs?.total_price ?? 0) * 1_000_000;
      expect(Math.abs(costOf(usage, price) - micro)).toBeLessThan(1);
    }
  });

  test("flex and batch are half of the plain price, rounded up", async () => {
    expect(await known("gpt-5.4-mini", { serviceTier: "flex" })).toEqual({
      inputMicroUsdPerMTok: 375_000,
      cachedMicroUsdPerMTok: 37_500,
      cacheWriteMicroUsdPerMTok: 375_000,
      outputMicroUsdPerMTok: 2_250_000,
    });
    expect((await known("gpt-5.4", { serviceTier: "batch" })).tiers?.[0]).toMatchObject({
      aboveInputTokens: 271_999,
      inputMicroUsdPerMTok: 2_500_000,
    });
  });

  test.each(["priority", "scale", "auto", "constructor"])(
    "the factor of service tier %s is not known, so its price is not",
    async (serviceTier) => {
      const answer = await priceOf({ model: "gpt-5.4", serviceTier, at: AT });
      expect(answer).toMatchObject({ known: false });
      expect(JSON.stringify(answer)).toContain(serviceTier);
    },
  );

  test.each([
    ["a model that nobody lists", { model: "gpt-nope" }],
    [
      "a known name served by somebody else",
      { model: "gpt-4o", baseUrl: "http://127.0.0.1:8000/v1" },
    ],
    ["a name of Object's", { model: "constructor" }],
  ])("%s has no known price", async (_, query) => {
    expect(await priceOf({ at: AT, ...query })).toMatchObject({ known: false });
  });

  test("the operator's own price is final, whatever the tier", async () => {
    const own = { ...(await known("gpt-4o")), inputMicroUsdPerMTok: 1 };
    const overrides = { "gpt-4o": own, local: own };
    const query = { at: AT, overrides, serviceTier: "priority" };
    expect(await priceOf({ ...query, model: "gpt-4o" })).toEqual({
      known: true,
      price: own,
      source: "configuration",
    });
    expect(await priceOf({ ...query, model: "local" })).toMatchObject({ known: true });
  });

  test("the price of the day holds", async () => {
    const before = await known("o3", { at: new Date("2025-06-09T00:00:00Z") });
    const after = await known("o3", { at: new Date("2025-06-11T00:00:00Z") });
    expect(before.inputMicroUsdPerMTok).toBe(10_000_000);
    expect(after.inputMicroUsdPerMTok).toBe(2_000_000);
  });

  test("a price per request is none that tokens could count", () => {
    expect(priceFrom({ input_mtok: 1, output_mtok: 1, requests_kcount: 5 })).toBeNull();
    expect(priceFrom({ input_mtok: 1 })).toBeNull();
  });
});

test("the table in the repository agrees with the library of its day", async () => {
  const table = JSON.parse(
    readFileSync(new URL("../../src/providers/price-table.json", import.meta.url), "utf8"),
  ) as { date: string; models: Record<string, unknown> };
  const at = new Date(table.date);
  const models = Object.entries(table.models);
  expect(models.length).toBeGreaterThan(30);
  const now = models.map(async ([model]) => [model, await known(model, { at })]);
  expect(Object.fromEntries(await Promise.all(now))).toEqual(
    Object.fromEntries(models.map(([model, price]) => [model, priceSchema.parse(price)])),
  );
});
