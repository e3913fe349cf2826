/**
 * The customer's request as received. Untrusted text: it is data for the model, never an
 * instruction.
 */
import { z } from "zod";
import { jsonSchema } from "./json.ts";

/** Far above any real ticket; below what would make every step's context useless. */
const MAX_BODY_CHARS = 200_000;

export const ticketSchema = z.strictObject({
  id: z.string().min(1).max(200),
  subject: z.string().max(2_000).default(""),
  body: z.string().max(MAX_BODY_CHARS).default(""),
  customer: z.strictObject({ id: z.string().min(1).max(200) }).optional(),
  revision: z.int().min(1).default(1),
  attributes: z.record(z.string(), jsonSchema).default({}),
});

export type Ticket = z.infer<typeof ticketSchema>;

/** Whose budget of the day a run is part of: set by whoever takes tickets in, never by a model. */
export function tenantOf({ attributes }: Pick<Ticket, "attributes">): string | null {
  const tenant = Object.hasOwn(attributes, "tenant") ? attributes["tenant"] : undefined;
  return typeof tenant === "string" && tenant !== "" ? tenant : null;
}
