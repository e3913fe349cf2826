/**
 * The case file format as one schema: tests, evals, demo, simulator and benchmark read the same
 * files. Unknown keys are refused with their path. `pawl case schema` prints it as JSON Schema.
 */
import { z } from "zod";
import { factConditionSchema } from "../core/condition.ts";
import { PawlError } from "../core/errors.ts";
import { jsonObjectSchema, jsonSchema } from "../core/json.ts";
import { limitsSchema } from "../core/run-state.ts";
import { ticketSchema } from "../core/ticket.ts";
import { expectSchema } from "./case-expect.ts";
import { eventsSchema } from "./case-events.ts";

const microUsd = z.int().min(0);

const inlineToolSchema = z.strictObject({
  name: z.string(),
  effect: z.enum(["read", "write"]),
  description: z.string().default(""),
  input: jsonObjectSchema.default({ type: "object", properties: {} }),
  identity: z.array(z.string()).optional(),
  normalize: z
    .record(z.string(), z.array(z.enum(["trim", "upper", "lower", "nospace"])))
    .optional(),
  facts: z.record(z.string(), z.string()).optional(),
  about: z.record(z.string(), z.string()).optional(),
  observedAt: z.string().optional(),
  maxAgeMs: z.int().min(0).optional(),
  required: z.boolean().optional(),
  timeoutMs: z.int().min(1).optional(),
  retries: z.int().min(0).optional(),
  confirm: z.strictObject({ pointer: z.string(), equals: jsonSchema }).optional(),
  lookup: z.boolean().optional(),
});
export type InlineTool = z.infer<typeof inlineToolSchema>;

const inlineAgentSchema = z.strictObject({
  name: z.string().min(1),
  version: z.string().optional(),
  instructions: z.string().default(""),
  tools: z.array(inlineToolSchema),
  terminals: z.array(z.string()).optional(),
  approvals: z
    .record(
      z.string(),
      z.strictObject({ executes: z.string(), expiresMs: z.int().min(0).optional() }),
    )
    .optional(),
  policy: z.string().optional(),
  contradictions: z
    .array(z.strictObject({ id: z.string(), when: z.array(factConditionSchema) }))
    .optional(),
  postcondition: z.array(factConditionSchema).optional(),
  nudges: z.int().min(0).optional(),
  ceiling: limitsSchema.partial().optional(),
  context: z.enum(["state", "transcript"]).optional(),
  routine: z.strictObject({ when: z.array(factConditionSchema) }).optional(),
});
export type InlineAgent = z.infer<typeof inlineAgentSchema>;

const rates = {
  inputMicroUsdPerMTok: microUsd,
  cachedMicroUsdPerMTok: microUsd.optional(),
  cacheWriteMicroUsdPerMTok: microUsd.optional(),
  outputMicroUsdPerMTok: microUsd,
};
const priceSchema = z.strictObject({
  ...rates,
  tiers: z.array(z.strictObject({ aboveInputTokens: z.int().min(0), ...rates })).optional(),
});
const modelSchema = z.strictObject({
  name: z.string(),
  price: priceSchema.nullable().optional(),
});

/** One scripted answer of a tool: exactly what the outside does, and whether its books change. */
export const answerSchema = z.strictObject({
  when: jsonObjectSchema.optional(),
  times: z.int().min(1).optional(),
  delayMs: z.int().min(0).optional(),
  result: jsonSchema.optional(),
  error: z.enum(["timeout", "unavailable"]).optional(),
  throws: z.string().optional(),
  resultOf: z.enum(["bigint", "cycle", "date", "map", "nan", "undefined", "bytes"]).optional(),
  effect: z.boolean().optional(),
});
export type ScriptedAnswer = z.infer<typeof answerSchema>;

const callSchema = z.strictObject({
  tool: z.string(),
  args: jsonSchema.optional(),
  rawArgs: z.string().optional(),
  reason: z.string().optional(),
  expected: jsonSchema.optional(),
});

const usageSchema = z.strictObject({
  input: z.int().min(0),
  cached: z.int().min(0).optional(),
  cacheWrite: z.int().min(0).optional(),
  output: z.int().min(0),
  reasoning: z.int().min(0).optional(),
});

const replySchema = z.strictObject({
  call: callSchema.optional(),
  calls: z.array(callSchema).optional(),
  text: z.string().nullable().optional(),
  usage: usageSchema.nullable().optional(),
  finish: z.string().optional(),
  delayMs: z.int().min(0).optional(),
  repeat: z.boolean().optional(),
  chat: jsonObjectSchema.optional(),
  response: jsonObjectSchema.optional(),
  http: z
    .strictObject({
      status: z.int(),
      headers: z.record(z.string(), z.string()).optional(),
      body: jsonSchema.optional(),
    })
    .optional(),
  drop: z.literal("connection").optional(),
  hang: z.literal(true).optional(),
});
export type ScriptedReply = z.infer<typeof replySchema>;

export const caseSchema = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().min(1),
  agent: z.union([z.string(), inlineAgentSchema]),
  ticket: ticketSchema,
  limits: limitsSchema.partial().optional(),
  model: modelSchema.optional(),
  /** Answers, from the same script, the steps that the agent calls routine. */
  routineModel: modelSchema.optional(),
  /** Answers, from the same script, once the model cannot. */
  fallbackModel: modelSchema.optional(),
  tools: z.record(z.string(), z.array(answerSchema)).default({}),
  policyAnswers: z.array(jsonSchema).optional(),
  replies: z.array(replySchema),
  events: eventsSchema.default([]),
  fastForward: z.boolean().optional(),
  sweepEveryMs: z.int().min(1).optional(),
  expect: expectSchema.default({}),
});
export type Case = z.infer<typeof caseSchema>;

/** Takes a file's text; throws PAWL_CASE_INVALID with the path. */
export function parseCase(text: string): Case {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new PawlError("PAWL_CASE_INVALID", "the case file is not JSON", { cause });
  }
  const parsed = caseSchema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = `/${(issue?.path ?? []).join("/")}`;
    throw new PawlError("PAWL_CASE_INVALID", `${path}: ${issue?.message}`, { path });
  }
  return parsed.data;
}
