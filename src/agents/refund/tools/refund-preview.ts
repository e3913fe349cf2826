/**
 * What a refund of this amount would do, from the payment provider; nothing is changed by asking.
 */
import { z } from "zod";
import { defineTool } from "../../../tools/tool.ts";
import type { RefundReads } from "../clients.ts";
import { amountInput, orderIdentity, orderIdInput } from "./order-id.ts";
import { isForeign } from "./own-order.ts";

export function refundPreview(reads: RefundReads) {
  return defineTool({
    name: "refund_preview",
    effect: "read",
    description:
      "What a refund of this amount would do: whether it is allowed and why, how much can be refunded, by which method. Refunds nothing.",
    input: z.strictObject({ orderId: orderIdInput, amountCents: amountInput }),
    identity: ["orderId", "amountCents"],
    ...orderIdentity,
    facts: {
      "preview.orderId": "/orderId",
      "preview.allowed": "/allowed",
      "preview.refundableCents": "/refundableCents",
      "preview.method": "/method",
      "preview.reason": "/reason",
    },
    required: true,
    timeoutMs: 5_000,
    retries: 2,
    async handler(wanted, { customerId, signal }) {
      const { orderId, amountCents } = wanted;
      const order = await reads.order(orderId, signal);
      if (!isForeign(order, customerId)) return reads.preview(wanted, signal);
      const refused = { allowed: false, refundableCents: 0, method: "none" };
      return { orderId, amountCents, ...refused, reason: "not_this_customers_order" };
    },
  });
}
