/** What the carrier says about an order's parcel. */
import { defineTool } from "../../../tools/tool.ts";
import type { DeliveryClients } from "../clients.ts";
import { orderIdentity, orderInput } from "./order-id.ts";

export function getDelivery(clients: DeliveryClients) {
  return defineTool({
    name: "get_delivery",
    effect: "read",
    description:
      "The carrier's record of an order's parcel: status, carrier, tracking id, last event.",
    input: orderInput,
    ...orderIdentity,
    facts: {
      "delivery.status": "/status",
      "delivery.carrier": "/carrier",
      "delivery.trackingId": "/trackingId",
      "delivery.lastEventAt": "/lastEventAt",
    },
    required: true,
    timeoutMs: 5_000,
    retries: 2,
    handler: ({ orderId }, { signal }) => clients.delivery(orderId, signal),
  });
}
