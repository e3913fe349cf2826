/** The one argument of every delivery tool: `a-1842 ` and `A-1842` are the same order. */
import { z } from "zod";
import type { Normaliser } from "../../../core/agent-spec.ts";

export const orderInput = z.strictObject({
  orderId: z.string().min(1).max(40).describe("The order id as the customer wrote it"),
});

export const orderIdentity = {
  identity: ["orderId"],
  normalize: { orderId: ["nospace", "upper"] as readonly Normaliser[] },
  about: { orderId: "/orderId" },
} as const;
