/** What happens from outside while a case runs, and when. Each entry fires once. */
import { z } from "zod";
import { jsonObjectSchema, jsonSchema } from "../core/json.ts";
import { STATUSES, type Status } from "../core/stop.ts";

export const CRASH_POINTS = [
  "after_load",
  "after_reserve",
  "after_decide",
  "after_journal",
  "before_act",
  "after_act",
  "before_save",
  "after_save",
  "after_enqueue",
] as const;

const afterSchema = z.union([
  z.strictObject({ step: z.int().min(1) }),
  z.strictObject({ status: z.enum(STATUSES as readonly [Status, ...Status[]]) }),
]);

const personSchema = z.looseObject({ by: z.string().optional(), approval: z.string().optional() });

const eventSchema = z
  .strictObject({
    after: afterSchema.optional(),
    at: z.strictObject({ step: z.int().min(1), point: z.enum(CRASH_POINTS) }).optional(),
    userReply: z.string().optional(),
    approve: personSchema.optional(),
    reject: personSchema.optional(),
    expire: z.looseObject({}).optional(),
    approval: z.string().optional(),
    cancel: z.strictObject({ why: z.string().default("cancelled") }).optional(),
    ticketRevision: jsonObjectSchema.optional(),
    humanReply: jsonObjectSchema.optional(),
    deliverAgain: z.strictObject({ eventId: z.string() }).optional(),
    tamper: z.strictObject({ pointer: z.string(), value: jsonSchema }).optional(),
    kill: z.literal("worker").optional(),
    freezeMs: z.int().min(1).optional(),
  })
  .refine((event) => (event.after === undefined) !== (event.at === undefined), {
    message: "an event needs either after or at",
  });
export type CaseEvent = z.infer<typeof eventSchema>;

export const eventsSchema = z.array(eventSchema);
