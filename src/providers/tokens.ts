/**
 * Tokens of a request before it leaves, counted so that the server's own count is never above it:
 * the texts by the tokenizer of the GPT models, tools as their whole JSON Schema, and the framing
 * that the server adds to each. Calibrated on recorded exchanges (test/unit/tokens.test.ts).
 */
import type { ModelContext } from "../core/context.ts";

/** Added by the server around a request, a message, a call and a tool; seen at most, rounded up. */
const FRAME = { request: 32, message: 6, call: 12, tool: 12 } as const;

/**
 * The tokenizer's time grows faster than a text without any space: such a text is counted in
 * pieces, which together have at least as many tokens as the whole.
 */
const PIECE_CHARS = 8_000;

export type CountTokens = (text: string) => number;

let loading: Promise<CountTokens> | undefined;

/** 0.3 s and 60 MB the first time, so it is loaded by whoever has something to count. */
export function loadTokenizer(): Promise<CountTokens> {
  loading ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => {
    // Every marker such as <|endoftext|> is text here: it is a customer's or a tool's.
    const asText = { disallowedSpecial: new Set<string>() };
    return (text) => {
      let tokens = 0;
      for (let from = 0; from < text.length; from += PIECE_CHARS) {
        tokens += countTokens(text.slice(from, from + PIECE_CHARS), asText);
      }
      return tokens;
    };
  });
  return loading;
}

/** An upper bound of the input tokens of a request with this context. */
export function countContext(context: ModelContext, count: CountTokens): number {
  let tokens = FRAME.request + count(context.instructions) + FRAME.message;
  for (const message of context.messages) {
    tokens += FRAME.message + count(message.text ?? "");
    if (message.role !== "assistant") continue;
    for (const { id: _id, ...call } of message.calls) {
      tokens += FRAME.call + count(JSON.stringify(call));
    }
  }
  for (const { name, description, input } of context.allTools) {
    tokens += FRAME.tool + count(JSON.stringify({ name, description, input }));
  }
  return tokens;
}

const BYTES_PER_TOKEN = 4;

/** A rough size for reports, where nothing is limited or paid and no tokenizer is worth loading. */
export function estimateContext(context: ModelContext): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(context)) / BYTES_PER_TOKEN);
}
