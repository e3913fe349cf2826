import { readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "../support/failure-of.ts";
import type { ContextMessage, ModelContext } from "../../src/core/context.ts";
import {
  countContext,
  estimateContext,
  loadTokenizer,
  type CountTokens,
} from "../../src/providers/tokens.ts";

let count: CountTokens;
beforeAll(async () => {
  count = await loadTokenizer();
});

interface Recorded {
  readonly file: string;
  readonly index: number;
  readonly instructions: string;
  readonly messages: readonly {
    readonly role: string;
    readonly text: string | null;
    readonly calls?: readonly object[];
  }[];
  readonly tools: ModelContext["tools"];
  readonly inputTokens: number;
}

const file = readFileSync(new URL("../fixtures/openai/requests.json", import.meta.url), "utf8");
const { requests } = JSON.parse(file) as { requests: readonly Recorded[] };

function contextOf({ instructions, messages, tools }: Recorded): ModelContext {
  const of = (message: Recorded["messages"][number], i: number): ContextMessage =>
    ({
      ...message,
      callId: `c${i}`,
      calls: (message.calls ?? []).map((call) => ({ ...call, reason: null, expected: null })),
    }) as unknown as ContextMessage;
  return { instructions, messages: messages.map(of), tools, allTools: tools };
}

describe("countContext", () => {
  test.each(requests)("$file $index: no less than the server counted", (recorded) => {
    const counted = countContext(contextOf(recorded), count);
    expect(counted).toBeGreaterThanOrEqual(recorded.inputTokens);
    // Framing weighs on the smallest requests only.
    expect(counted).toBeLessThanOrEqual(recorded.inputTokens * 1.3 + 110);
  });

  test("a long request is counted to within a hundredth", () => {
    const long = requests.find(({ inputTokens }) => inputTokens > 4_000);
    if (long === undefined) throw new Error("no long request");
    expect(countContext(contextOf(long), count)).toBeLessThan(long.inputTokens * 1.01);
  });
});

describe("the tokenizer", () => {
  test("a marker of the model's own is a customer's text", () => {
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
  });

  test("half of a surrogate pair is counted, not refused", () => {
    expect(count("a\ud83c")).toBeGreaterThan(0);
  });

  test("a text without any space is counted in pieces, never below its whole", () => {
    expect(count("a".repeat(200_000))).toBeGreaterThanOrEqual(200_000 / 8);
  });

  test("more text never has fewer tokens by more than the joint", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 200 });
    const property = fc.property(text, text, (a, b) => count(a + b) <= count(a) + count(b));
    expect(failureOf(property)).toBeUndefined();
  });
});

test("the rough size of a context needs no tokenizer", () => {
  const context = { instructions: "abcd", messages: [], tools: [], allTools: [] };
  expect(estimateContext(context)).toBe(Math.ceil(JSON.stringify(context).length / 4));
});
