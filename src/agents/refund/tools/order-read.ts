/** What the shop's books say about an order: whose it is, what was paid, what went back. */
import { z } from "zod";
import { defineTool } from "../../../tools/tool.ts";
import type { RefundReads } from "../clients.ts";
import { orderIdentity, orderIdInput } from "./order-id.ts";
import { isForeign, withheld } from "./own-order.ts";

export function orderRead(reads: RefundReads) {
  return defineTool({
    name: "order_read",
    effect: "read",
    description:
      "The shop's record of an order: its customer, status, what was paid and refunded in cents.",
    input: z.strictObject({ orderId: orderIdInput }),
    identity: ["orderId"],
    ...orderIdentity,
    facts: {
      "order.found": "/found",
      "order.id": "/orderId",
      "order.customerId": "/customerId",
      "order.status": "/status",
      "order.paidCents": "/paidCents",
      "order.refundedCents": "/refundedCents",
      "order.currency": "/currency",
    },
    required: true,
    timeoutMs: 5_000,
    retries: 2,
    async handler({ orderId }, { customerId, signal }) {
      const order = await reads.order(orderId, signal);
      return isForeign(order, customerId) ? withheld(order) : order;
    },
  });
}
