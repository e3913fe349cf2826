/** How the refund tools name an order: `a-1842 ` and `A-1842` are the same one. */
import { z } from "zod";
import type { Normaliser } from "../../../core/agent-spec.ts";

export const orderIdInput = z
  .string()
  .min(1)
  .max(40)
  .describe("The order id as the customer wrote it");

export const amountInput = z
  .int()
  .min(1)
  .describe("The amount in integer minor units (cents) of the order's currency");

export const orderIdentity = {
  normalize: { orderId: ["nospace", "upper"] as readonly Normaliser[] },
  about: { orderId: "/orderId" },
} as const;
