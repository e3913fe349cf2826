/** The delivery investigation: where is my order? Reads three systems, answers or hands over. */
import { readFileSync } from "node:fs";
import { defineAgent, type AgentPack } from "../agent.ts";
import { NOT_CONNECTED, type DeliveryClients } from "./clients.ts";
import { contradictions, missingData, postcondition } from "./rules.ts";
import { getDelivery } from "./tools/get-delivery.ts";
import { getOrder } from "./tools/get-order.ts";
import { getPayment } from "./tools/get-payment.ts";

export function deliveryAgent(clients: DeliveryClients = NOT_CONNECTED): AgentPack {
  return defineAgent({
    name: "delivery",
    version: "1.0.0",
    instructions: readFileSync(new URL("./instructions.md", import.meta.url), "utf8"),
    tools: [getOrder(clients), getPayment(clients), getDelivery(clients)],
    contradictions,
    missingData,
    postcondition,
    queue: "delivery",
  });
}
