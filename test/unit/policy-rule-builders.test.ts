import { describe, expect, test } from "vitest";
import { permit, type PermitRequest } from "../../src/policy/policy.ts";
import {
  amountAbove,
  customerCap,
  needsScope,
  ownership,
  runCap,
} from "../../src/policy/rule-builders.ts";
import { defineRules, type Rule } from "../../src/policy/rules.ts";

const REQUEST: PermitRequest = {
  runId: "run-1",
  agent: "refund",
  tool: "create_refund",
  effect: "write",
  args: { orderId: "A-1", amountCents: 5_000 },
  ticketId: "T-1",
  customerId: "c-17",
  ticket: { id: "T-1", customerId: "c-17", attributes: { tenant: "shop-1", scopes: ["refund"] } },
  facts: { "order.id": "A-1", "order.customerId": "c-17", "order.paidCents": 9_000 },
  approved: false,
  spent: { steps: 1, tokens: 100, moneyMicroUsd: 0 },
  effectsOfRun: 0,
  effectsOfCustomer: 0,
};

const ALLOW: Rule = { id: "all", effect: "allow", when: () => true, reason: "everything" };
const TOOLS = ["create_refund"];

/** Everything is allowed but for these rules. */
const ask = (rules: readonly Rule[], changed: Partial<PermitRequest> = {}) =>
  permit(defineRules({ version: "1", rules: [ALLOW, ...rules] }), { ...REQUEST, ...changed });
const denies = (rule: string) => ({ answer: "deny", rule });

describe("ownership", () => {
  const own = ownership({
    id: "own",
    tools: TOOLS,
    facts: ["order.customerId"],
    args: ["customerId"],
    about: [{ fact: "order.id", arg: "orderId" }],
  });
  const { facts, args } = REQUEST;

  test("lets through what is the customer's", async () => {
    expect(await ask([own])).toMatchObject({ answer: "allow" });
    expect(await ask([own], { args: { ...args, customerId: "c-17" } })).toMatchObject({
      answer: "allow",
    });
    expect(await ask([own], { tool: "get_order", facts: {} })).toMatchObject({ answer: "allow" });
  });

  test.each<[string, Partial<PermitRequest>]>([
    ["a fact of another customer", { facts: { ...facts, "order.customerId": "c-99" } }],
    ["a fact that is not known", { facts: { "order.id": "A-1" } }],
    ["a fact of another type", { facts: { ...facts, "order.customerId": ["c-17"] } }],
    ["facts about another order", { args: { ...args, orderId: "B-2" } }],
    ["no order named", { args: { amountCents: 1 } }],
    ["an argument with another customer", { args: { ...args, customerId: "c-99" } }],
    ["an argument with null", { args: { ...args, customerId: null } }],
    ["a ticket without a customer", { customerId: null }],
    ["nobody owning nothing", { customerId: "", facts: { ...facts, "order.customerId": "" } }],
  ])("denies %s", async (_name, changed) => {
    expect(await ask([own], changed)).toMatchObject(denies("own"));
    expect(await ask([own], { ...changed, approved: true })).toMatchObject(denies("own"));
  });

  test("an argument cannot make somebody else the customer", async () => {
    const stranger = { ...facts, "order.customerId": "c-99" };
    const claims = { customerId: "c-99", ticket: { customerId: "c-99" }, tenant: "x" };
    const changed = { facts: stranger, args: { ...args, ...claims } };
    expect(await ask([own], changed)).toMatchObject(denies("own"));
  });

  test("a tenant is compared with the ticket's attribute", async () => {
    const tenant = ownership({
      id: "tenant",
      tools: TOOLS,
      facts: ["order.tenant"],
      owner: ({ ticket }) => ticket?.attributes["tenant"],
    });
    const of = (name: string) => ask([tenant], { facts: { "order.tenant": name } });
    expect(await of("shop-1")).toMatchObject({ answer: "allow" });
    expect(await of("shop-2")).toMatchObject(denies("tenant"));
  });

  test("a rule that compares nothing or is about no tool is refused at start", () => {
    expect(() => ownership({ id: "own", tools: TOOLS })).toThrow("neither a fact");
    expect(() => ownership({ id: "own", tools: [], facts: ["a"] })).toThrow("about no tool");
  });
});

describe("scopes", () => {
  const scope = needsScope({ id: "scope", tools: TOOLS, scope: "refund" });
  const having = (attributes: PermitRequest["args"]) =>
    ask([scope], { ticket: { id: "T-1", customerId: null, attributes } });

  test("a scope is one of the ticket's list, and nothing else", async () => {
    expect(await ask([scope])).toMatchObject({ answer: "allow" });
    expect(await having({ scopes: ["read"] })).toMatchObject(denies("scope"));
    expect(await having({ scopes: "refund" })).toMatchObject(denies("scope"));
    expect(await having({})).toMatchObject(denies("scope"));
  });

  test("a scope in the arguments is just an argument", async () => {
    const changed = { args: { scopes: ["refund"] }, ticket: { ...REQUEST.ticket, attributes: {} } };
    expect(await ask([scope], changed as Partial<PermitRequest>)).toMatchObject(denies("scope"));
  });
});

describe("amounts", () => {
  const big = amountAbove({
    id: "big",
    tools: TOOLS,
    arg: "amountCents",
    max: 5_000,
    effect: "require_approval",
  });
  const of = (amountCents: unknown, rules = [big], changed: Partial<PermitRequest> = {}) =>
    ask(rules, { ...changed, args: { orderId: "A-1", amountCents } as PermitRequest["args"] });

  test.each([0, 1, 5_000])("%d is within the limit", async (amount) => {
    expect(await of(amount)).toMatchObject({ answer: "allow", rule: "all" });
  });

  test("one minor unit above it is the rule's", async () => {
    expect(await of(5_001)).toMatchObject({ answer: "require_approval", rule: "big" });
    expect(await of(5_001, [big], { approved: true })).toMatchObject({ answer: "allow" });
  });

  test.each([
    10.5,
    0.1 + 0.2,
    -1,
    "5000",
    null,
    undefined,
    true,
    [5_000],
    { valueOf: 1 },
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])("%j is no amount and denied, approved or not", async (amount) => {
    expect(await of(amount)).toMatchObject(denies("big"));
    expect(await of(amount, [big], { approved: true })).toMatchObject(denies("big"));
  });

  test("a limit may be a fact about the same order", async () => {
    const paid = amountAbove({
      id: "paid",
      tools: TOOLS,
      arg: "amountCents",
      max: { fact: "order.paidCents" },
      about: [{ fact: "order.id", arg: "orderId" }],
      effect: "deny",
    });
    expect(await of(9_000, [paid])).toMatchObject({ answer: "allow" });
    expect(await of(9_001, [paid])).toMatchObject(denies("paid"));
    expect(await of(1, [paid], { facts: { "order.id": "A-1" } })).toMatchObject(denies("paid"));
    const other = { ...REQUEST.facts, "order.id": "B-2" };
    expect(await of(1, [paid], { facts: other })).toMatchObject(denies("paid"));
  });

  test("what the customer has had before counts in", async () => {
    const total = amountAbove({
      id: "total",
      tools: TOOLS,
      arg: "amountCents",
      plus: "customer.refundedCents",
      max: 6_000,
      effect: "deny",
    });
    const had = (cents: number) => ({ facts: { "customer.refundedCents": cents } });
    expect(await of(5_000, [total], had(1_000))).toMatchObject({ answer: "allow" });
    expect(await of(5_000, [total], had(1_001))).toMatchObject(denies("total"));
    expect(await of(5_000, [total])).toMatchObject(denies("total"));
    expect(await of(5_000, [total], had(Number.MAX_SAFE_INTEGER))).toMatchObject(denies("total"));
  });

  test.each([10.5, -1, Number.NaN, 2 ** 60])("the bound %d is refused at start", (max) => {
    const build = () =>
      amountAbove({ id: "big", tools: TOOLS, arg: "amountCents", max, effect: "deny" });
    expect(build).toThrow(expect.objectContaining({ code: "PAWL_POLICY_INVALID" }));
  });
});

describe("caps", () => {
  const ofRun = runCap({ id: "run_cap", tools: TOOLS, max: 1, effect: "deny" });
  const ofCustomer = customerCap({ id: "customer_cap", tools: TOOLS, max: 2, effect: "deny" });
  const counted = (effectsOfRun: number, effectsOfCustomer: number) =>
    ask([ofRun, ofCustomer], { effectsOfRun, effectsOfCustomer });

  test("so many effects may happen and no more", async () => {
    expect(await counted(0, 1)).toMatchObject({ answer: "allow" });
    expect(await counted(1, 1)).toMatchObject(denies("run_cap"));
    expect(await counted(0, 2)).toMatchObject(denies("customer_cap"));
  });

  test("what nobody counted is denied", async () => {
    const { effectsOfRun: _run, effectsOfCustomer: _customer, ...request } = REQUEST;
    for (const rule of [ofRun, ofCustomer]) {
      const policy = defineRules({ version: "1", rules: [ALLOW, rule] });
      expect(await permit(policy, request)).toMatchObject(denies(rule.id));
    }
    expect(await counted(Number.NaN, 0)).toMatchObject(denies("run_cap"));
  });

  test("a cap of zero lets nothing happen", async () => {
    const none = runCap({ id: "none", tools: TOOLS, max: 0, effect: "require_approval" });
    expect(await ask([none])).toMatchObject({ answer: "require_approval", rule: "none" });
  });
});
