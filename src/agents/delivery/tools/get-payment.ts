/** What the payment provider says about an order: a second witness beside the shop's `paid`. */
import { defineTool } from "../../../tools/tool.ts";
import type { DeliveryClients } from "../clients.ts";
import { orderIdentity, orderInput } from "./order-id.ts";

export function getPayment(clients: DeliveryClients) {
  return defineTool({
    name: "get_payment",
    effect: "read",
    description: "The payment provider's record for an order: status, payment id, amount in cents.",
    input: orderInput,
    ...orderIdentity,
    facts: {
      "payment.status": "/status",
      "payment.id": "/paymentId",
      "payment.amountCents": "/amountCents",
      "payment.currency": "/currency",
    },
    required: true,
    timeoutMs: 5_000,
    retries: 2,
    handler: ({ orderId }, { signal }) => clients.payment(orderId, signal),
  });
}
