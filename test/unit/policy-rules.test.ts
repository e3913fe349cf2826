import { describe, expect, test, vi } from "vitest";
import { permit, type PermitRequest } from "../../src/policy/policy.ts";
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
/** Everything is allowed but for these rules. */
const ask = (rules: readonly Rule[], changed: Partial<PermitRequest> = {}) =>
  permit(defineRules({ version: "1", rules: [ALLOW, ...rules] }), { ...REQUEST, ...changed });
const denies = (rule: string) => ({ answer: "deny", rule });

describe("rules", () => {
  const rule = (effect: Rule["effect"], isMet = true): Rule => ({
    id: effect,
    effect,
    when: () => isMet,
    reason: `because of ${effect}`,
  });
  const decide = (rules: readonly Rule[], approved = false) =>
    permit(defineRules({ version: "1", rules }), { ...REQUEST, approved });

  test("what no rule is about is denied", async () => {
    const nobody = { answer: "deny", rule: "default_deny", reason: "no rule allows this call" };
    expect(await decide([])).toEqual(nobody);
    expect(await decide([rule("allow", false), rule("deny", false)])).toEqual(nobody);
  });

  test.each([
    [["allow"], "allow"],
    [["require_approval"], "require_approval"],
    [["allow", "require_approval"], "require_approval"],
    [["allow", "require_approval", "deny"], "deny"],
    [["deny", "allow"], "deny"],
  ] as const)("of %j the answer is %s, in any order", async (effects, answer) => {
    const rules = effects.map((effect) => rule(effect));
    const expected = { answer, rule: answer, reason: `because of ${answer}` };
    expect(await decide(rules)).toEqual(expected);
    expect(await decide(rules.toReversed())).toEqual(expected);
  });

  test("of two rules with one effect the first in the set is named", async () => {
    expect(await decide([{ ...ALLOW, id: "first" }, ALLOW])).toMatchObject({ rule: "first" });
  });

  test("an approval lifts require_approval and no denial", async () => {
    const asked = rule("require_approval");
    expect(await decide([asked], true)).toMatchObject({ answer: "allow", rule: asked.id });
    const { approved: _approved, ...request } = REQUEST;
    const policy = defineRules({ version: "1", rules: [asked] });
    expect(await permit(policy, request)).toMatchObject({ answer: "require_approval" });
    expect(await decide([asked, rule("deny")], true)).toMatchObject(denies("deny"));
    expect(await decide([], true)).toMatchObject(denies("default_deny"));
  });

  test.each([
    ["throws", () => JSON.parse("{") as unknown],
    ["reads what is not there", () => (undefined as unknown as Rule).id],
    ["gives nothing", () => undefined],
    ["gives a word", () => "true"],
    ["gives one", () => 1],
    ["gives an object", () => ({})],
    ["gives a promise of true", () => Promise.resolve(true)],
    ["gives a promise that rejects", () => Promise.reject(new Error("later"))],
  ])("an allowing rule that %s denies under its own id", async (_name, when) => {
    const odd = { ...ALLOW, id: "odd", when: when as unknown as Rule["when"] };
    expect(await ask([odd])).toMatchObject(denies("odd"));
  });

  test("an odd rule counts as a denial even where an approval was given", async () => {
    const odd = { ...rule("require_approval"), when: () => null as unknown as boolean };
    expect(await decide([odd], true)).toMatchObject(denies("require_approval"));
  });

  test.each([
    ["without an id", [{ ...ALLOW, id: "" }]],
    ["with an id of another", [ALLOW, { ...ALLOW, effect: "deny" as const }]],
    ["named as the default", [{ ...ALLOW, id: "default_deny" }]],
    ["with an effect that is none", [{ ...ALLOW, effect: "ask" as "deny" }]],
  ])("a rule %s is refused at start", (_name, rules) => {
    const define = () => defineRules({ version: "1", rules });
    expect(define).toThrow(expect.objectContaining({ code: "PAWL_POLICY_INVALID" }));
  });

  test("a set without a version is refused, one with a version has it", () => {
    expect(() => defineRules({ version: "", rules: [] })).toThrow("without a version");
    expect(defineRules({ version: "2026-10", rules: [] }).version).toBe("2026-10");
  });

  test("a rule put into the list afterwards is none of the policy's", async () => {
    const rules = [ALLOW];
    const policy = defineRules({ version: "1", rules });
    rules.push(rule("deny"));
    expect(await permit(policy, REQUEST)).toMatchObject({ answer: "allow" });
  });

  test("a rule is asked once a call", async () => {
    const when = vi.fn<Rule["when"]>(() => true);
    await decide([{ ...ALLOW, when }]);
    expect(when).toHaveBeenCalledTimes(1);
  });
});
