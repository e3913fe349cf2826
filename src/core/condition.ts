/**
 * One condition on one value, used by expectations, postconditions, contradiction rules and
 * missing-data rules alike, so that "exists" means the same everywhere: `[]`, `0`, `false`, `""`
 * exist.
 */
import { z } from "zod";
import { jsonEqual, jsonSchema, type Json } from "./json.ts";
import type { Resolved } from "./pointer.ts";

/** What is asked of a value; exactly one question a condition. */
export const testSchema = z.union([
  z.strictObject({ exists: z.boolean() }),
  z.strictObject({ equals: jsonSchema }),
  z.strictObject({ in: z.array(jsonSchema) }),
  z.strictObject({ gte: z.number() }),
  z.strictObject({ lte: z.number() }),
]);
export type Test = z.infer<typeof testSchema>;

export const factConditionSchema = z.union([
  z.strictObject({ fact: z.string(), exists: z.boolean() }),
  z.strictObject({ fact: z.string(), equals: jsonSchema }),
  z.strictObject({ fact: z.string(), in: z.array(jsonSchema) }),
  z.strictObject({ fact: z.string(), gte: z.number() }),
  z.strictObject({ fact: z.string(), lte: z.number() }),
]);
export type FactCondition = z.infer<typeof factConditionSchema>;

export function passes(test: Test, seen: Resolved): boolean {
  if ("exists" in test) return seen.found === test.exists;
  if (!seen.found) return false;
  if ("equals" in test) return jsonEqual(seen.value, test.equals);
  if ("in" in test) return test.in.some((wanted) => jsonEqual(seen.value, wanted));
  if (typeof seen.value !== "number") return false;
  return "gte" in test ? seen.value >= test.gte : seen.value <= test.lte;
}

/** The sentence a person reads: `order.paid equals true`. */
export function describeTest(test: Test): string {
  if ("exists" in test) return test.exists ? "exists" : "does not exist";
  if ("equals" in test) return `equals ${JSON.stringify(test.equals)}`;
  if ("in" in test) return `is one of ${JSON.stringify(test.in)}`;
  return "gte" in test ? `is at least ${test.gte}` : `is at most ${test.lte}`;
}

/** The values a condition mentions: part of the status words a message may not use unsupported. */
export function valuesOf(test: Test): readonly Json[] {
  if ("equals" in test) return [test.equals];
  return "in" in test ? test.in : [];
}
