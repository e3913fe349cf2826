/**
 * What cannot be true at once, and what cannot be found out. Each contradiction names what the shop
 * says and what the payment provider says; which of them is wrong is for a person to say.
 */
import type { ContradictionRule, MissingDataRule } from "../../core/agent-spec.ts";
import type { FactCondition } from "../../core/condition.ts";

export const contradictions: readonly ContradictionRule[] = [
  {
    id: "refunded_yet_refundable",
    when: [
      { fact: "order.status", equals: "refunded" },
      { fact: "preview.allowed", equals: true },
    ],
  },
  {
    id: "unpaid_yet_refundable",
    when: [
      { fact: "order.paidCents", lte: 0 },
      { fact: "preview.allowed", equals: true },
    ],
  },
  {
    // The bank has given the money back already; a refund beside it would pay twice.
    id: "charged_back_yet_refundable",
    when: [
      { fact: "order.status", in: ["disputed", "charged_back"] },
      { fact: "preview.allowed", equals: true },
    ],
  },
  {
    id: "allowed_yet_nothing_refundable",
    when: [
      { fact: "preview.allowed", equals: true },
      { fact: "preview.refundableCents", lte: 0 },
    ],
  },
];

export const missingData: readonly MissingDataRule[] = [
  { id: "no_such_order", when: [{ fact: "order.found", equals: false }] },
];

/**
 * The goal of an answer without a refund: the article was found, the order read, the refund
 * previewed and allowed. A refund that is not allowed is told to the customer by a person.
 */
export const postcondition: readonly FactCondition[] = [
  { fact: "policy.articleId", exists: true },
  { fact: "order.status", exists: true },
  { fact: "preview.allowed", equals: true },
];
