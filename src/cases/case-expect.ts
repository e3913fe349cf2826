/** What must come of a case. Every key is optional; only named keys are compared. */
import { z } from "zod";
import { jsonObjectSchema, jsonSchema } from "../core/json.ts";

const count = z.int().min(0);
const counts = z.record(z.string(), count);

export const expectSchema = z.strictObject({
  status: z.string().optional(),
  reason: z.string().nullable().optional(),
  refused: z.string().optional(),
  steps: count.optional(),
  modelCalls: count.optional(),
  repliesLeft: count.optional(),
  runs: count.optional(),
  handlerCalls: counts.optional(),
  effects: counts.optional(),
  effectKeys: counts.optional(),
  facts: z.record(z.string(), jsonSchema).optional(),
  openQuestions: count.optional(),
  toolErrors: z.array(z.string()).optional(),
  journal: z.array(jsonObjectSchema).optional(),
  notExecuted: count.optional(),
  lateResults: count.optional(),
  aborted: z.array(z.string()).optional(),
  eventErrors: z.array(z.string()).optional(),
  handoff: z
    .strictObject({
      known: z.array(z.string()).optional(),
      unknown: count.optional(),
      contradicts: z.array(z.string()).optional(),
      tried: z.array(z.string()).optional(),
    })
    .optional(),
  spend: z.strictObject({ tokens: count.optional(), moneyMicroUsd: count.optional() }).optional(),
  paidButLost: count.optional(),
  outward: z.array(jsonObjectSchema).optional(),
  waits: z.array(jsonObjectSchema).optional(),
  lastRequest: z
    .strictObject({
      tools: z.array(z.string()).optional(),
      contains: z.array(z.string()).optional(),
      lacks: z.array(z.string()).optional(),
      sendable: z.boolean().optional(),
    })
    .optional(),
});
