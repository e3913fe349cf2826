/**
 * The refund agent: policy, order, preview, a person's yes, one refund that the provider confirms.
 */
import { readFileSync } from "node:fs";
import { defineAgent, type AgentPack } from "../agent.ts";
import type { Article } from "./article-search.ts";
import { shippedArticles } from "./articles.ts";
import { NOT_CONNECTED, type RefundClients } from "./clients.ts";
import { refundPolicy } from "./policy.ts";
import { contradictions, missingData, postcondition } from "./rules.ts";
import { createRefund } from "./tools/create-refund.ts";
import { orderRead } from "./tools/order-read.ts";
import { policySearch } from "./tools/policy-search.ts";
import { refundPreview } from "./tools/refund-preview.ts";

/** Takes the installation's clients and its own policy articles, if it has any. */
export function refundAgent(
  clients: RefundClients = NOT_CONNECTED,
  articles: readonly Article[] = shippedArticles(),
): AgentPack {
  const { reads, bank } = clients;
  return defineAgent({
    name: "refund",
    version: "1.0.0",
    instructions: readFileSync(new URL("./instructions.md", import.meta.url), "utf8"),
    tools: [policySearch(articles), orderRead(reads), refundPreview(reads), createRefund(bank)],
    approvals: { request_refund_approval: { executes: "create_refund" } },
    effectMessage: "Your refund {{refund.id}} of {{refund.amount}} was confirmed.",
    policy: refundPolicy,
    contradictions,
    missingData,
    postcondition,
    queue: "refunds",
  });
}
