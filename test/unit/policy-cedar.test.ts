/** How a policy text decides. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  createCedarPolicy,
  type CedarPolicy,
  type CedarTool,
} from "../../src/policy/cedar-policy.ts";
import { permit, type PermitRequest } from "../../src/policy/policy.ts";

const object = (properties: CedarTool["input"], required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});
const TOOLS: readonly CedarTool[] = [
  {
    name: "get_order",
    effect: "read",
    input: object({ orderId: { type: "string" } }, ["orderId"]),
    facts: { "order.status": "/status", "order.total": "/total", "order.customerId": "/customer" },
  },
  {
    name: "create_refund",
    effect: "write",
    input: object(
      {
        orderId: { type: "string" },
        amountCents: { type: "number" },
        note: { type: ["string", "null"] },
        approved: { type: "boolean" },
        customerId: { type: "string" },
        extra: { type: "object" },
      },
      ["orderId", "amountCents"],
    ),
    facts: {},
  },
];

const TEXT = `
@id("reads") permit(principal, action, resource) when { resource.effect == "read" };
@id("refunds") permit(principal == Agent::"refund", action, resource == Tool::"create_refund");
@id("big") @effect("require_approval") @reason("more than 50.00")
forbid(principal, action, resource == Tool::"create_refund")
when { context.args.amountCents > 5000 };
@id("too_big") forbid(principal, action, resource == Tool::"create_refund")
when { context.args.amountCents > 100000 };
@id("own") forbid(principal, action, resource == Tool::"create_refund")
unless { context has customer && context.facts has "order.customerId"
  && context.facts["order.customerId"] == context.customer.id };`;

const REQUEST: PermitRequest = {
  runId: "run-1",
  agent: "refund",
  tool: "create_refund",
  effect: "write",
  args: { orderId: "A-1", amountCents: 5_000 },
  ticketId: "T-1",
  customerId: "c-17",
  ticket: { id: "T-1", customerId: "c-17", attributes: {} },
  facts: { "order.customerId": "c-17" },
  approved: false,
  spent: { steps: 1, tokens: 100, moneyMicroUsd: 0 },
  effectsOfRun: 0,
};

const policies = new Map<string, Promise<CedarPolicy>>();

/** Every decision goes by the guard, as in a step. */
async function ask(changed: Partial<PermitRequest> = {}, text = TEXT) {
  const policy = policies.get(text) ?? createCedarPolicy({ text, tools: TOOLS });
  policies.set(text, policy);
  return permit(await policy, { ...REQUEST, ...changed });
}
const withArgs = (args: Record<string, unknown>) => ({
  args: { ...REQUEST.args, ...args } as PermitRequest["args"],
});
const of = (amountCents: unknown, changed: Partial<PermitRequest> = {}) =>
  ask({ ...changed, ...withArgs({ amountCents }) });

const FAILED = { answer: "deny", rule: "policy_evaluation_failed" };
const ASKED = { answer: "require_approval", rule: "big", reason: "more than 50.00" };

/** The engine is compiled once a process; on a busy machine that is no test's time. */
beforeAll(async () => void (await createCedarPolicy({ text: "", tools: [] })));

describe("a decision", () => {
  test("names the rule that made it", async () => {
    const read = { tool: "get_order", args: { orderId: "A-1" } };
    expect(await ask(read)).toMatchObject({ answer: "allow", rule: "reads" });
    expect(await of(5_000)).toMatchObject({ answer: "allow", rule: "refunds" });
    expect(await of(100_001)).toMatchObject({ answer: "deny", rule: "too_big" });
    expect(await ask({ facts: {} })).toMatchObject({ answer: "deny", rule: "own" });
  });

  test("is a denial where nothing permits, whoever approved it", async () => {
    const denied = { answer: "deny", rule: "default_deny" };
    expect(await ask({ agent: "delivery" })).toMatchObject(denied);
    expect(await ask({ agent: "delivery", approved: true })).toMatchObject(denied);
    expect(await ask({ tool: "drop_all" })).toMatchObject(denied);
    expect(await ask({ tool: "constructor" })).toMatchObject(denied);
    expect(await ask({}, "")).toMatchObject(denied);
  });

  test("asks for a person when only such forbids stand in the way", async () => {
    expect(await of(5_001)).toEqual(ASKED);
    expect(await of(5_001, { approved: true })).toMatchObject({
      answer: "allow",
      rule: "refunds",
    });
  });

  test("never asks a person for what stays forbidden", async () => {
    for (const approved of [false, true]) {
      expect(await of(100_001, { approved })).toMatchObject({ answer: "deny", rule: "too_big" });
      expect(await of(5_001, { approved, facts: {} })).toMatchObject({ rule: "own" });
      expect(await of(5_001, { approved, agent: "x" })).toMatchObject({ rule: "default_deny" });
    }
  });

  test("names the first rule of the text when several decide", async () => {
    const many = ["b", "a"].map((id) => `@id("${id}") permit(principal, action, resource);`);
    expect(await ask({}, many.join("\n"))).toMatchObject({ rule: "b" });
  });

  test("takes the effect of the tool from the registry, not from the caller", async () => {
    const text = 'permit(principal, action, resource) when { resource.effect == "read" };';
    expect(await ask({ effect: "read" }, text)).toMatchObject({ answer: "deny" });
  });

  test.each([
    ["a permit", "permit(principal, action, resource) when { context.approved };"],
    [
      "a forbid",
      `permit(principal, action, resource);
       @id("policy0_") forbid(principal, action, resource) unless { context.approved };`,
    ],
  ])("is a request for a person where %s reads the approval", async (_name, text) => {
    expect(await ask({}, text)).toMatchObject({ answer: "require_approval" });
    expect(await ask({ approved: true }, text)).toMatchObject({ answer: "allow" });
  });

  test("stays a denial where an approval would not change it", async () => {
    const text = `permit(principal, action, resource == Tool::"create_refund")
      when { context.approved && context.args.amountCents < 10 };`;
    expect(await of(10, {})).toMatchObject({ answer: "allow" });
    expect(await ask(withArgs({ amountCents: 9 }), text)).toMatchObject({
      answer: "require_approval",
    });
    expect(await ask(withArgs({ amountCents: 10 }), text)).toMatchObject({
      answer: "deny",
      rule: "default_deny",
    });
  });

  test("keeps two policies apart, the same text is one", async () => {
    const no = await createCedarPolicy({ text: "", tools: TOOLS });
    const yes = await createCedarPolicy({ text: TEXT, tools: TOOLS });
    const again = await createCedarPolicy({ text: TEXT, tools: TOOLS });
    expect([no, yes, again].map((policy) => policy.decide(REQUEST).answer)).toEqual([
      "deny",
      "allow",
      "allow",
    ]);
  });
});

describe("money", () => {
  test.each([10.5, 0.1 + 0.2, 4_999.999_999, 2 ** 53, -(2 ** 60), Number.NaN, Infinity])(
    "%d is no whole number of minor units and denied",
    async (amount) => {
      expect(await of(amount)).toMatchObject(FAILED);
      expect(await of(amount, { approved: true })).toMatchObject(FAILED);
    },
  );

  test.each(["5000", [1], { a: 1 }, true])("%j is no number and denied", async (amount) => {
    expect(await of(amount)).toMatchObject(FAILED);
  });

  test("a missing amount is denied: a rule that cannot be evaluated lets nothing pass", async () => {
    expect(await ask({ args: { orderId: "A-1" } })).toMatchObject(FAILED);
    expect(await of(null)).toMatchObject(FAILED);
  });

  test("a sum beyond 64 bits is denied", async () => {
    const text = `permit(principal, action, resource == Tool::"create_refund")
      when { context.args.amountCents * 9000000000000 > 0 };`;
    expect(await ask(withArgs({ amountCents: 9_000_000 }), text)).toMatchObject(FAILED);
  });

  test("a fraction in a fact that no policy reads is not looked at", async () => {
    const facts = { ...REQUEST.facts, "order.total": 19.99, weight: [null, 2 ** 70] };
    expect(await ask({ facts })).toMatchObject({ answer: "allow" });
    const text = `permit(principal, action, resource)
      when { context.facts has "order.total" && context.facts["order.total"] > 10 };`;
    expect(await ask({ facts }, text)).toMatchObject(FAILED);
  });
});

describe("null", () => {
  const text = `permit(principal, action, resource == Tool::"create_refund")
    when { !(context.args has note) && !(context has customer) };`;

  test("is a field that is not there", async () => {
    expect(await ask({ ...withArgs({ note: null }), customerId: null }, text)).toMatchObject({
      answer: "allow",
    });
    expect(await ask({ ...withArgs({ note: "x" }), customerId: null }, text)).toMatchObject({
      answer: "deny",
      rule: "default_deny",
    });
  });

  test("in a list is nothing that Cedar could leave out, so it is denied", async () => {
    expect(await ask(withArgs({ extra: { list: [null] } }))).toMatchObject(FAILED);
  });
});
