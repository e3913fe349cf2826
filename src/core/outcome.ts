/** What a run hands back, by kind. A stop carries the same report as a handoff. */
import { z } from "zod";
import { evidenceSchema, factSchema, supportedClaimSchema } from "./fact.ts";

const reportSchema = {
  known: z.array(factSchema),
  unknown: z.array(z.strictObject({ id: z.string(), text: z.string() })),
  contradicts: z.array(evidenceSchema),
  tried: z.array(
    z.strictObject({
      callId: z.string(),
      step: z.int(),
      tool: z.string(),
      args: z.string(),
      outcome: z.string(),
    }),
  ),
};

/**
 * How a step stood that its worker did not survive, or that threw again and again: how often, and
 * what its last try had on disk. Names and times only; the events themselves are in the journal.
 */
export const dumpSchema = z.strictObject({
  step: z.int(),
  claims: z.int(),
  crashes: z.int(),
  faults: z.int(),
  /** Oldest first. */
  onDisk: z.array(z.strictObject({ type: z.string(), at: z.number() })),
  /** The call in hand: what was decided and perhaps already done. */
  call: z.strictObject({ callId: z.string(), tool: z.string() }).nullable(),
});
export type Dump = z.infer<typeof dumpSchema>;

/**
 * What the run hands back. A stop carries the same report as a handoff: nobody starts from
 * nothing.
 */
export const outcomeSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("answer"),
    message: z.string(),
    claims: z.array(supportedClaimSchema),
  }),
  z.strictObject({
    kind: z.literal("effect"),
    approvalId: z.string(),
    tool: z.string(),
    callId: z.string(),
    /** What the provider's confirmation says: ids, status. */
    claims: z.array(supportedClaimSchema),
    message: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal("handoff"),
    ...reportSchema,
    queue: z.string(),
    summary: z.string().nullable(),
    customerMessage: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal("stop"),
    ...reportSchema,
    detail: z.string(),
    dump: dumpSchema.optional(),
  }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;
