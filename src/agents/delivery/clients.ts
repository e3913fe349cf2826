/**
 * What the delivery agent's tools read from: three clients that cannot write. An installation
 * connects its shop, payment provider and carrier here; results are plain JSON as tools/*.ts
 * describe it.
 */
import type { JsonObject } from "../../core/json.ts";
import { TransientToolError } from "../../tools/tool.ts";

export type Lookup = (orderId: string, signal: AbortSignal) => Promise<JsonObject>;

export interface DeliveryClients {
  /** `{orderId, found, status, paid, paymentId?}` */
  readonly order: Lookup;
  /** `{orderId, status, paymentId?, amountCents?, currency?}` */
  readonly payment: Lookup;
  /** `{orderId, status, carrier?, trackingId?, lastEventAt?}` */
  readonly delivery: Lookup;
}

/**
 * Nothing is connected: every read is unavailable, which ends a run as a handoff and not as a
 * guess.
 */
export const NOT_CONNECTED: DeliveryClients = {
  order: () => Promise.reject(new TransientToolError("unavailable", "no shop is connected")),
  payment: () =>
    Promise.reject(new TransientToolError("unavailable", "no payment provider is connected")),
  delivery: () => Promise.reject(new TransientToolError("unavailable", "no carrier is connected")),
};
