/**
 * Whose order it is, decided where the data comes in and from the trusted customer of the run: what
 * belongs to somebody else never reaches the model, however the ticket asks for it.
 */
import type { JsonObject } from "../../../core/json.ts";

/** A ticket without a known customer owns no order. */
export function isForeign(order: JsonObject, customerId: string | null): boolean {
  if (order["found"] === false) return false;
  return customerId === null || order["customerId"] !== customerId;
}

/** Whose it is stays, as the evidence of a denial; the rest is not for this customer. */
export function withheld(order: JsonObject): JsonObject {
  const { orderId = null, customerId = null } = order;
  return { orderId, found: true, customerId, status: "withheld" };
}
