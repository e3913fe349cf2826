/**
 * What a model's reply is once an adapter has read it, and what a decision must carry to be acted
 * on. Tolerant here, strict in check.ts: whatever came is journaled, only what is valid is
 * executed.
 */
import { z } from "zod";
import { jsonSchema } from "./json.ts";

const fieldCheckSchema = z.union([
  z.strictObject({ pointer: z.string(), check: z.literal("exists") }),
  z.strictObject({ pointer: z.string(), check: z.literal("equals"), value: jsonSchema }),
  z.strictObject({ pointer: z.string(), check: z.literal("in"), values: z.array(jsonSchema) }),
  z.strictObject({ pointer: z.string(), check: z.literal("gte"), value: z.number() }),
  z.strictObject({ pointer: z.string(), check: z.literal("lte"), value: z.number() }),
]);

/** What the model says it will see: about which entity, and which fields. */
export const expectationSchema = z.strictObject({
  about: z.record(z.string(), jsonSchema).optional(),
  fields: z.array(fieldCheckSchema).min(1),
  closes: z.string().optional(),
});
export type Expectation = z.infer<typeof expectationSchema>;
export type FieldCheck = z.infer<typeof fieldCheckSchema>;

/** The condition of a field check, in the words of condition.ts. */
export function testOf(field: FieldCheck) {
  switch (field.check) {
    case "exists":
      return { exists: true };
    case "equals":
      return { equals: field.value };
    case "in":
      return { in: field.values };
    case "gte":
      return { gte: field.value };
    case "lte":
      return { lte: field.value };
  }
}

/**
 * Arguments as they came: parsed JSON, or the text of the wire, or something in-process that is
 * not JSON.
 */
export const argumentsSchema = z.union([
  z.strictObject({ json: jsonSchema }),
  z.strictObject({ text: z.string() }),
  z.strictObject({ notJson: z.string() }),
]);
export type RawArguments = z.infer<typeof argumentsSchema>;

/** One call of a reply. `id` is Pawl's own; the provider's ids never identify anything. */
export const replyCallSchema = z.strictObject({
  id: z.string(),
  tool: z.string(),
  args: argumentsSchema,
  reason: z.string(),
  expected: jsonSchema.nullable(),
});
export type ReplyCall = z.infer<typeof replyCallSchema>;

/**
 * Tokens of one model call; cached, cacheWrite are parts of input, reasoning is a part of output.
 */
export const usageSchema = z.strictObject({
  input: z.int().min(0),
  cached: z.int().min(0),
  cacheWrite: z.int().min(0),
  output: z.int().min(0),
  reasoning: z.int().min(0),
});
export type Usage = z.infer<typeof usageSchema>;

/**
 * What to do about a request that gave no decision. final: asking again gives the same. retry: it
 * may pass. rate_limit: it passes after a delay. content: it was refused for what it says.
 */
export const FAULT_KINDS = ["final", "retry", "rate_limit", "content"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What counts against a limit of tokens: the parts are in their wholes. */
export function tokensOf({ input, output }: Usage): number {
  return input + output;
}

export const NO_USAGE: Usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

/** stop | tool_calls | completed are normal; every other text, known or not, is not. */
export const NORMAL_FINISHES: readonly string[] = ["stop", "tool_calls", "completed"];
export const REFUSAL_FINISHES: readonly string[] = ["refusal", "content_filter"];
