/** What the policy said of a call, and what a person says of an effect. */
import { z } from "zod";
import { jsonObjectSchema } from "./json.ts";

export const permissionSchema = z.strictObject({
  callId: z.string(),
  answer: z.enum(["allow", "require_approval", "deny"]),
  rule: z.string(),
  reason: z.string(),
  /**
   * Effects of the customer in all runs that the policy was told of; absent where none were asked.
   */
  customerEffects: z.int().min(0).optional(),
});
export type Permission = z.infer<typeof permissionSchema>;

/** A person's yes or no to one effect; single use, expiring, void if the arguments change. */
export const approvalSchema = z.strictObject({
  id: z.string(),
  /** The step whose decision asked for it. */
  step: z.int(),
  callId: z.string(),
  /** The terminal that asked, and the write tool that it executes. */
  terminal: z.string(),
  tool: z.string(),
  args: jsonObjectSchema,
  argsHash: z.string(),
  key: z.string(),
  policyVersion: z.string(),
  /** Customer messages and takeovers known when it was asked: a newer one makes it void. */
  heard: z.int(),
  requestedAt: z.number(),
  expiresAt: z.number(),
  status: z.enum(["pending", "approved", "rejected", "expired", "void", "used"]),
  by: z.string().nullable(),
  note: z.string().nullable(),
});
export type Approval = z.infer<typeof approvalSchema>;
