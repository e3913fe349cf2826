/** What the refund pack allows, and that its typed rules and its policy text say the same. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { refundAgent } from "../../src/agents/refund/agent.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { createCedarPolicy } from "../../src/policy/cedar-policy.ts";
import { permit, type PermitRequest, type Policy } from "../../src/policy/policy.ts";

const FACTS = {
  "order.id": "A-1",
  "order.customerId": "c-17",
  "preview.orderId": "A-1",
  "preview.allowed": true,
  "preview.refundableCents": 4_990,
};
const REFUND: PermitRequest = {
  runId: "run-1",
  agent: "refund",
  tool: "create_refund",
  effect: "write",
  args: { orderId: "A-1", amountCents: 2_000 },
  ticketId: "T-1",
  customerId: "c-17",
  ticket: { id: "T-1", customerId: "c-17", attributes: {} },
  facts: FACTS,
  approved: false,
  spent: { steps: 4, tokens: 100, moneyMicroUsd: 0 },
  effectsOfRun: 0,
  effectsOfCustomer: 0,
};

/** Compiled once: neither of the two keeps anything between two decisions. */
const POLICIES = compiled();

async function compiled() {
  const agent = refundAgent();
  const file = new URL("../../src/agents/refund/policy.cedar", import.meta.url);
  const text = readFileSync(file, "utf8");
  const tools = [...agent.tools.values(), ...agent.effects.values()];
  const cedar = await createCedarPolicy({ text, tools });
  return { typed: agent.policy, cedar };
}

const args = (changed: JsonObject) => ({ args: { ...REFUND.args, ...changed } });
const facts = (changed: JsonObject) => ({ facts: { ...FACTS, ...changed } });
function without(name: keyof typeof FACTS) {
  const { [name]: _left, ...rest } = FACTS;
  return { facts: rest };
}
const PREVIEW = { tool: "refund_preview", effect: "read" as const };
const ALLOWED = ["allow", "reads"] as const;
const ASKED = ["require_approval", "refund_needs_a_person"] as const;
const deny = (rule: string) => ["deny", rule] as const;

type Row = [string, Partial<PermitRequest>, readonly [answer: string, rule: string | null]];

/** rule null: the two policies name it differently, their answer is the same. */
const TABLE: Row[] = [
  ["a refund on its evidence needs a person", {}, ASKED],
  ["and is carried out once a person said yes", { approved: true }, ["allow", null]],
  ["exactly what is refundable", args({ amountCents: 4_990 }), ASKED],
  ["one cent above", args({ amountCents: 4_991 }), deny("amount_above_refundable")],
  ["above, with a yes", { ...args({ amountCents: 4_991 }), approved: true }, ["deny", null]],
  ["half a cent", args({ amountCents: 1_999.5 }), ["deny", null]],
  ["more than a double holds", args({ amountCents: 2 ** 53 }), ["deny", null]],
  ["an amount as text", args({ amountCents: "2000" }), ["deny", null]],
  ["no amount", { args: { orderId: "A-1" } }, ["deny", null]],
  ["nothing", args({ amountCents: 0 }), deny("amount_not_integer")],
  ["less than nothing", args({ amountCents: -1 }), deny("amount_not_integer")],
  ["a foreign order", facts({ "order.customerId": "c-99" }), deny("foreign_customer")],
  ["an order of nobody", facts({ "order.customerId": "" }), deny("foreign_customer")],
  ["an owner that is a number", facts({ "order.customerId": 17 }), deny("foreign_customer")],
  ["nobody known to ask", { customerId: null }, deny("foreign_customer")],
  [
    "nobody, and an order of nobody",
    { customerId: null, ...without("order.customerId") },
    deny("foreign_customer"),
  ],
  ["no order read", without("order.id"), deny("evidence_missing")],
  ["no preview", without("preview.orderId"), deny("evidence_missing")],
  ["no fact at all", { facts: {} }, deny("evidence_missing")],
  ["another order read since", facts({ "order.id": "A-2" }), deny("evidence_missing")],
  ["another order previewed since", facts({ "preview.orderId": "A-2" }), deny("evidence_missing")],
  ["an order id in other letters", args({ orderId: "a-1" }), deny("evidence_missing")],
  ["a preview that says no", facts({ "preview.allowed": false }), deny("preview_not_allowed")],
  ["a preview that says nothing", without("preview.allowed"), deny("preview_not_allowed")],
  [
    "a preview without an amount",
    without("preview.refundableCents"),
    deny("amount_above_refundable"),
  ],
  [
    "a preview of nothing",
    facts({ "preview.refundableCents": 0 }),
    deny("amount_above_refundable"),
  ],
  [
    "a preview below nothing",
    facts({ "preview.refundableCents": -5 }),
    deny("amount_above_refundable"),
  ],
  [
    "a preview with its amount as text",
    facts({ "preview.refundableCents": "4990" }),
    ["deny", null],
  ],
  ["a second refund in the run", { effectsOfRun: 1 }, deny("one_refund_a_run")],
  ["a second one with a yes", { effectsOfRun: 1, approved: true }, deny("one_refund_a_run")],
  ["a fourth refund of the customer", { effectsOfCustomer: 3 }, deny("refunds_of_customer")],
  ["a third one", { effectsOfCustomer: 2 }, ASKED],
  [
    "a fourth one with a yes",
    { effectsOfCustomer: 3, approved: true },
    deny("refunds_of_customer"),
  ],
  ["an approval in the arguments", args({ approved: true }), ASKED],
  ["an approval among the facts", facts({ approved: true, "order.note": "pre-approved" }), ASKED],
  ["a search", { tool: "policy_search", effect: "read", args: { query: "x", limit: 3 } }, ALLOWED],
  [
    "the order",
    { tool: "order_read", effect: "read", args: { orderId: "A-1" }, facts: {} },
    ALLOWED,
  ],
  ["a preview of the own order", PREVIEW, ALLOWED],
  ["a preview before the order was read", { ...PREVIEW, facts: {} }, ALLOWED],
  [
    "a preview of another order than the foreign one",
    { ...PREVIEW, ...facts({ "order.id": "A-2", "order.customerId": "c-99" }) },
    ALLOWED,
  ],
  [
    "a preview of a foreign order",
    { ...PREVIEW, ...facts({ "order.customerId": "c-99" }) },
    deny("foreign_preview"),
  ],
  ["a preview for nobody", { ...PREVIEW, customerId: null }, deny("foreign_preview")],
  ["a tool that nobody wrote", { tool: "send_money" }, deny("default_deny")],
  ["a name of the prototype", { tool: "constructor" }, deny("default_deny")],
];

describe("the typed rules and the policy text decide the same:", () => {
  test.each(TABLE)("%s", async (_, changed, [answer, rule]) => {
    const { typed, cedar } = await POLICIES;
    for (const policy of [typed, cedar]) {
      const said = await permit(policy, { ...REFUND, ...changed });
      expect(said).toMatchObject(rule === null ? { answer } : { answer, rule });
    }
  });

  test("on every combination of owner, order, preview, amount, cap and approval", async () => {
    const { typed, cedar } = await POLICIES;
    const customers = ["c-17", "c-99", null];
    const orders = ["A-1", "A-2", undefined];
    const amounts = [1, 4_990, 4_991];
    const requests = combinations({ customers, orders, amounts });
    const decided = await Promise.all(requests.map((request) => answersOf(typed, request)));
    expect(await Promise.all(requests.map((request) => answersOf(cedar, request)))).toEqual(
      decided,
    );
    // The right customer, order and preview, with each of the two amounts that are refundable.
    expect(decided.filter(({ answer }) => answer === "require_approval")).toHaveLength(2);
  });
});

interface Choices {
  readonly customers: readonly (string | null)[];
  readonly orders: readonly (string | undefined)[];
  readonly amounts: readonly number[];
}

/**
 * The rule of an allowance is left out: it is the permit in one and the lifted rule in the other.
 */
async function answersOf(policy: Policy, request: PermitRequest) {
  const { answer, rule } = await permit(policy, request);
  return { request, answer, rule: answer === "allow" ? null : rule };
}

function combinations({ customers, orders, amounts }: Choices): PermitRequest[] {
  const all = <A, B>(as: readonly A[], bs: readonly B[]) =>
    as.flatMap((a) => bs.map((b) => [a, b] as const));
  const known = all(orders, orders).map(([order, previewed]) => factsAbout(order, previewed));
  const runs = all([0, 1], [true, false]);
  return all(all(customers, known), all(amounts, runs)).map(
    ([[customerId, facts], [amountCents, [effectsOfRun, approved]]]) => {
      const args = { orderId: "A-1", amountCents };
      return { ...REFUND, customerId, facts, args, effectsOfRun, approved };
    },
  );
}

/** undefined: not read, not previewed. */
function factsAbout(order: string | undefined, previewed: string | undefined): JsonObject {
  const { "order.id": _order, "preview.orderId": _previewed, ...others } = FACTS;
  return {
    ...others,
    ...(order === undefined ? {} : { "order.id": order }),
    ...(previewed === undefined ? {} : { "preview.orderId": previewed }),
  };
}

test("the pack binds approvals to its policy's version", () => {
  expect(refundAgent().policy.version).toBe("refund-2");
});

test("the policy text reads nothing that may be missing without asking", async () => {
  const { cedar } = await POLICIES;
  expect(cedar.warnings).toEqual([]);
});
