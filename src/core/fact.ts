/**
 * A fact: a confirmed value with its source. And what is built of facts: contradictions, claims.
 */
import { z } from "zod";
import { jsonObjectSchema, jsonSchema } from "./json.ts";

export const factSchema = z.strictObject({
  id: z.string(),
  key: z.string(),
  value: jsonSchema,
  step: z.int(),
  callId: z.string(),
  tool: z.string(),
  /** Into the recorded result of the call. */
  pointer: z.string(),
  /** ms since epoch: when the source says it was so, else when it was recorded. */
  observedAt: z.number(),
  /** The entity it is about, by the tool's identity names. */
  about: jsonObjectSchema,
  /**
   * Read from a list, object or text that had to be cut: no count and no "none" follows from it.
   */
  partial: z.boolean(),
});
export type Fact = z.infer<typeof factSchema>;

export const evidenceSchema = z.strictObject({
  rule: z.string(),
  /** One side of the contradiction an entry: what was seen, and where. */
  sides: z.array(factSchema),
});
export type Contradiction = z.infer<typeof evidenceSchema>;

export const supportedClaimSchema = z.strictObject({
  factId: z.string(),
  key: z.string(),
  value: jsonSchema,
});
export type SupportedClaim = z.infer<typeof supportedClaimSchema>;
