/** What the shop's own books say about an order. */
import { defineTool } from "../../../tools/tool.ts";
import type { DeliveryClients } from "../clients.ts";
import { orderIdentity, orderInput } from "./order-id.ts";

export function getOrder(clients: DeliveryClients) {
  return defineTool({
    name: "get_order",
    effect: "read",
    description: "The shop's record of an order: status, whether it is paid, its payment id.",
    input: orderInput,
    ...orderIdentity,
    facts: {
      "order.found": "/found",
      "order.status": "/status",
      "order.paid": "/paid",
      "order.paymentId": "/paymentId",
    },
    required: true,
    timeoutMs: 5_000,
    retries: 2,
    handler: ({ orderId }, { signal }) => clients.order(orderId, signal),
  });
}
