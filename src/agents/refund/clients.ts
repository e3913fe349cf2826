/**
 * What the refund agent's tools talk to: a shop and a preview that can only be read, and one bank
 * that can write. A read tool is handed `RefundReads` and so has nothing to write with. Results
 * are plain JSON; amounts are integer minor units of the order's currency, whatever that unit is
 * called.
 */
import type { JsonObject } from "../../core/json.ts";
import { TransientToolError } from "../../tools/tool.ts";

export interface RefundReads {
  /**
   * `{orderId, found, customerId, status, paidCents, refundedCents, currency}`; without such an
   * order `{orderId, found: false, status: "none"}`. `orderId` in capitals, as it was asked for.
   */
  readonly order: (orderId: string, signal: AbortSignal) => Promise<JsonObject>;
  /** `{orderId, amountCents, allowed, refundableCents, method, reason}`; changes nothing. */
  readonly preview: (wanted: RefundWanted, signal: AbortSignal) => Promise<JsonObject>;
}

export interface RefundWanted {
  readonly orderId: string;
  readonly amountCents: number;
}

export interface RefundBank {
  /**
   * Once per key, however often it is called: `{refundId, orderId, amountCents, currency,
   * status}`.
   */
  readonly refund: (wanted: RefundWanted, key: string, signal: AbortSignal) => Promise<JsonObject>;
  /** What was made under this key; null says for certain that nothing was. */
  readonly refundOf: (key: string, signal: AbortSignal) => Promise<JsonObject | null>;
}

export interface RefundClients {
  readonly reads: RefundReads;
  readonly bank: RefundBank;
}

const away = (what: string) => () =>
  Promise.reject(new TransientToolError("unavailable", `no ${what} is connected`));

/** Nothing is connected: a run ends as a handoff and not as a guess. */
export const NOT_CONNECTED: RefundClients = {
  reads: { order: away("shop"), preview: away("payment provider") },
  bank: { refund: away("payment provider"), refundOf: away("payment provider") },
};
