/**
 * Who may refund what. A refund rests on facts about its own order: whose it is, what the preview
 * allows. What the model or the customer says about owners, limits and approvals is no fact.
 * policy.cedar says the same in policy text.
 */
import type { PermitRequest } from "../../policy/policy.ts";
import { amountAbove, customerCap, ownership, runCap } from "../../policy/rule-builders.ts";
import { defineRules, type Rule } from "../../policy/rules.ts";

const READS = ["policy_search", "order_read", "refund_preview"];
const REFUNDS = ["create_refund"];

function refundRule(id: string, reason: string, when: (request: PermitRequest) => boolean): Rule {
  return { id, effect: "deny", reason, when: (r) => REFUNDS.includes(r.tool) && when(r) };
}

/** Of several denials the first one written is told: evidence before owner before amount. */
export const refundPolicy = defineRules({
  version: "refund-2",
  rules: [
    {
      id: "reads",
      effect: "allow",
      reason: "the agent may read",
      when: ({ tool, effect }) => effect === "read" && READS.includes(tool),
    },
    {
      // Before the order was read nobody knows whose it is; the tool itself withholds it then.
      id: "foreign_preview",
      effect: "deny",
      reason: "the order is not this customer's",
      when: ({ tool, args, facts, customerId }) =>
        tool === "refund_preview" &&
        facts["order.id"] !== undefined &&
        facts["order.id"] === args["orderId"] &&
        facts["order.customerId"] !== customerId,
    },
    refundRule(
      "evidence_missing",
      "this order and its preview were not the last ones read",
      ({ args, facts }) =>
        facts["order.id"] !== args["orderId"] || facts["preview.orderId"] !== args["orderId"],
    ),
    ownership({ id: "foreign_customer", tools: REFUNDS, facts: ["order.customerId"] }),
    refundRule(
      "amount_not_integer",
      "the amount is no whole number of minor units above 0",
      ({ args }) => !Number.isSafeInteger(args["amountCents"]) || Number(args["amountCents"]) < 1,
    ),
    refundRule(
      "preview_not_allowed",
      "the preview does not allow a refund",
      ({ facts }) => facts["preview.allowed"] !== true,
    ),
    amountAbove({
      id: "amount_above_refundable",
      tools: REFUNDS,
      effect: "deny",
      arg: "amountCents",
      max: { fact: "preview.refundableCents" },
    }),
    runCap({ id: "one_refund_a_run", tools: REFUNDS, effect: "deny", max: 1 }),
    customerCap({ id: "refunds_of_customer", tools: REFUNDS, effect: "deny", max: 3 }),
    {
      id: "refund_needs_a_person",
      effect: "require_approval",
      reason: "every refund is approved by a person",
      when: ({ tool, effect }) => effect === "write" && REFUNDS.includes(tool),
    },
  ],
});
