/**
 * The one write of this agent. It is not offered to the model: only an approved
 * `request_refund_approval` runs it, with the arguments that a person saw.
 */
import { z } from "zod";
import type { JsonObject } from "../../../core/json.ts";
import { defineTool } from "../../../tools/tool.ts";
import { amountText } from "../amount-text.ts";
import type { RefundBank } from "../clients.ts";
import { amountInput, orderIdentity, orderIdInput } from "./order-id.ts";

export function createRefund(bank: RefundBank) {
  return defineTool({
    name: "create_refund",
    effect: "write",
    description: "Refunds this amount of an order to the way it was paid.",
    input: z.strictObject({ orderId: orderIdInput, amountCents: amountInput }),
    identity: ["orderId", "amountCents"],
    ...orderIdentity,
    facts: {
      "refund.id": "/refundId",
      "refund.status": "/status",
      "refund.amountCents": "/amountCents",
      "refund.currency": "/currency",
      "refund.amount": "/amount",
    },
    confirm: { pointer: "/status", equals: "succeeded" },
    timeoutMs: 15_000,
    retries: 2,
    async handler(wanted, { idempotencyKey, signal }) {
      if (idempotencyKey === null) throw new Error("a refund without an idempotency key");
      return withAmount(await bank.refund(wanted, idempotencyKey, signal));
    },
    async lookup(key, { signal }) {
      const made = await bank.refundOf(key, signal);
      return made === null ? { found: false } : { found: true, result: withAmount(made) };
    },
  });
}

/** The amount as a customer reads it, beside the minor units that everything else counts in. */
function withAmount(refund: JsonObject): JsonObject {
  const amount = amountText(refund["amountCents"], refund["currency"]);
  return amount === null ? refund : { ...refund, amount };
}
