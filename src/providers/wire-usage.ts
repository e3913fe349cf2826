/**
 * The usage block of both OpenAI wires in core's words. Compatible servers leave parts out or send
 * null; what cannot be read is null as a whole, and the step then settles at its reservation.
 */
import { z } from "zod";
import type { Usage } from "../core/decision.ts";
import { isJsonObject, jsonObjectSchema, type JsonObject } from "../core/json.ts";

const count = z.int().min(0);
const part = count.nullish().transform((n) => n ?? 0);

const responsesSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z.object({ cached_tokens: part, cache_write_tokens: part }).nullish(),
  output_tokens_details: z.object({ reasoning_tokens: part }).nullish(),
});

const chatSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: part, cache_write_tokens: part }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: part }).nullish(),
});

/** Takes the `usage` of a response or a chat completion, whatever it is. */
export function readUsage(usage: unknown): Usage | null {
  const responses = responsesSchema.safeParse(usage);
  if (responses.success) {
    const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } =
      responses.data;
    return usageOf(input_tokens, input_tokens_details, output_tokens, output_tokens_details);
  }
  const chat = chatSchema.safeParse(usage);
  if (!chat.success) return null;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } =
    chat.data;
  return usageOf(
    prompt_tokens,
    prompt_tokens_details,
    completion_tokens,
    completion_tokens_details,
  );
}

/** Characters of a usage block that are kept as they came. */
const MOST_RAW_CHARS = 2_000;

/** Names that both wires know, with the sum that servers add. */
const KNOWN = new Set(
  [responsesSchema, chatSchema]
    .flatMap((schema) => Object.keys(schema.shape))
    .concat("total_tokens"),
);
const KNOWN_PARTS = new Set(["cached_tokens", "cache_write_tokens", "reasoning_tokens"]);

/** The block as it came where it tells of something that we do not know; else null. */
export function unknownUsage(usage: unknown): JsonObject | null {
  const read = jsonObjectSchema.safeParse(usage);
  if (!read.success || JSON.stringify(read.data).length > MOST_RAW_CHARS) return null;
  const isKnown = Object.entries(read.data).every(([name, value]) => {
    if (!KNOWN.has(name)) return value === null;
    return !isJsonObject(value) || knowsParts(value);
  });
  return isKnown ? null : read.data;
}

/** A part of zero tokens tells nothing. */
function knowsParts(parts: JsonObject): boolean {
  return Object.entries(parts).every(
    ([name, value]) => KNOWN_PARTS.has(name) || value === 0 || value === null,
  );
}

type InputParts =
  | { readonly cached_tokens: number; readonly cache_write_tokens: number }
  | null
  | undefined;

/** A part larger than its whole is a server's mistake: it is cut, so that no token counts twice. */
function usageOf(
  input: number,
  inputParts: InputParts,
  output: number,
  outputParts: { readonly reasoning_tokens: number } | null | undefined,
): Usage {
  const cached = Math.min(inputParts?.cached_tokens ?? 0, input);
  const cacheWrite = Math.min(inputParts?.cache_write_tokens ?? 0, input - cached);
  const reasoning = Math.min(outputParts?.reasoning_tokens ?? 0, output);
  return { input, cached, cacheWrite, output, reasoning };
}
