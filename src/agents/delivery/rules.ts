/**
 * What cannot be true at once, and what cannot be found out. Each rule names two witnesses; which
 * of them is wrong is for a person to say.
 */
import type { ContradictionRule, MissingDataRule } from "../../core/agent-spec.ts";
import type { FactCondition } from "../../core/condition.ts";

export const contradictions: readonly ContradictionRule[] = [
  {
    id: "paid_without_payment",
    when: [
      { fact: "order.paid", equals: true },
      { fact: "payment.status", in: ["none", "failed", "refunded"] },
    ],
  },
  {
    id: "payment_without_paid",
    when: [
      { fact: "order.paid", equals: false },
      { fact: "payment.status", in: ["captured", "succeeded"] },
    ],
  },
  {
    id: "delivered_but_not_by_carrier",
    when: [
      { fact: "order.status", equals: "delivered" },
      {
        fact: "delivery.status",
        in: ["label_created", "not_shipped", "in_transit", "unknown", "returned"],
      },
    ],
  },
  {
    id: "shipped_but_not_with_carrier",
    when: [
      { fact: "order.status", equals: "shipped" },
      { fact: "delivery.status", in: ["label_created", "not_shipped", "unknown"] },
    ],
  },
  {
    id: "carrier_has_what_shop_holds_back",
    when: [
      { fact: "order.status", in: ["cancelled", "pending"] },
      { fact: "delivery.status", in: ["in_transit", "delivered"] },
    ],
  },
];

export const missingData: readonly MissingDataRule[] = [
  { id: "no_such_order", when: [{ fact: "order.found", equals: false }] },
];

/** The goal: all three witnesses were heard. The model's "done" is not among the conditions. */
export const postcondition: readonly FactCondition[] = [
  { fact: "order.status", exists: true },
  { fact: "payment.status", exists: true },
  { fact: "delivery.status", exists: true },
];
