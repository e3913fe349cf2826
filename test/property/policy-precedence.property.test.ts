import fc from "fast-check";
import { expect, test } from "vitest";
import { createCedarPolicy, type CedarTool } from "../../src/policy/cedar-policy.ts";
import { permit, type PermitRequest, type PolicyAnswer } from "../../src/policy/policy.ts";
import { defineRules, type Rule, type RuleEffect } from "../../src/policy/rules.ts";
import { failureOf, failureOfAsync } from "../support/failure-of.ts";

type Answer = PolicyAnswer["answer"];
const STRENGTH: Readonly<Record<Answer, number>> = { allow: 0, require_approval: 1, deny: 2 };
const TOOL_NAMES = ["get_order", "create_refund"] as const;

/** A rule as plain values: about these tools, from this amount up; what it says may be odd. */
interface Drawn {
  readonly effect: RuleEffect;
  readonly tool: (typeof TOOL_NAMES)[number] | null;
  readonly from: number;
  readonly odd: "throws" | "undefined" | null;
}

const drawnRule: fc.Arbitrary<Drawn> = fc.record({
  effect: fc.constantFrom<RuleEffect>("allow", "require_approval", "deny"),
  tool: fc.constantFrom(...TOOL_NAMES, null),
  from: fc.integer({ min: 0, max: 10 }),
  odd: fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom("throws" as const, "undefined" as const) },
  ),
});
const drawnRules = fc.array(drawnRule, { maxLength: 8 });
const request: fc.Arbitrary<PermitRequest> = fc
  .record({
    tool: fc.constantFrom(...TOOL_NAMES),
    amountCents: fc.integer({ min: 0, max: 12 }),
    approved: fc.boolean(),
  })
  .map(({ tool, amountCents, approved }) => ({
    runId: "run-1",
    agent: "refund",
    tool,
    effect: "write",
    args: { amountCents },
    ticketId: "T-1",
    customerId: null,
    facts: {},
    approved,
  }));

function matches(rule: Drawn, { tool, args }: PermitRequest): boolean {
  return (rule.tool === null || rule.tool === tool) && (args["amountCents"] as number) >= rule.from;
}

function typed(rules: readonly Drawn[]): Rule[] {
  return rules.map((rule, i) => ({
    id: `r${i}`,
    effect: rule.effect,
    reason: "",
    when: (asked) => {
      if (rule.odd === "throws") throw new Error("odd");
      return rule.odd === null ? matches(rule, asked) : (undefined as unknown as boolean);
    },
  }));
}

const decide = (rules: readonly Rule[], asked: PermitRequest): PolicyAnswer =>
  defineRules({ version: "1", rules }).decide(asked) as PolicyAnswer;

test("the answer is that of the strongest rule, whatever the order", () => {
  const property = fc.property(drawnRules, request, (rules, asked) => {
    const said = rules.flatMap((rule): RuleEffect[] => {
      if (rule.odd !== null) return ["deny"];
      return matches(rule, asked) ? [rule.effect] : [];
    });
    const strongest = said.toSorted((a, b) => STRENGTH[b] - STRENGTH[a])[0] ?? "deny";
    const isLifted = strongest === "require_approval" && asked.approved === true;
    const expected = isLifted ? "allow" : strongest;
    const all = typed(rules);
    return [all, all.toReversed()].every((set) => decide(set, asked).answer === expected);
  });
  expect(failureOf(property)).toBeUndefined();
});

test("one more rule that denies or asks never makes an answer weaker", () => {
  const property = fc.property(drawnRules, drawnRule, request, (rules, more, asked) => {
    const before = decide(typed(rules), asked).answer;
    const denying = decide(typed([...rules, { ...more, effect: "deny" }]), asked).answer;
    return STRENGTH[denying] >= STRENGTH[before] && (before !== "deny" || denying === "deny");
  });
  expect(failureOf(property)).toBeUndefined();
});

test("one more rule that allows never lifts a denial that a rule gave", () => {
  const property = fc.property(drawnRules, drawnRule, request, (rules, more, asked) => {
    const before = decide(typed(rules), asked);
    if (before.answer !== "deny" || before.rule === "default_deny") return true;
    return decide(typed([...rules, { ...more, effect: "allow" }]), asked).answer === "deny";
  });
  expect(failureOf(property)).toBeUndefined();
});

test("whatever the arguments are, rules that do not look at them answer the same", async () => {
  const rules = typed([
    { effect: "require_approval", tool: "create_refund", from: 0, odd: null },
  ]).map((rule) => ({ ...rule, when: ({ tool }: PermitRequest) => tool === "create_refund" }));
  const policy = defineRules({ version: "1", rules });
  const args = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom("approved", "customerId", "tenant", "constructor")),
    fc.jsonValue(),
  );
  const property = fc.asyncProperty(args, request, async (given, asked) => {
    const call = { ...asked, tool: "create_refund", args: given as PermitRequest["args"] };
    const { answer } = await permit(policy, call);
    return answer === (asked.approved === true ? "allow" : "require_approval");
  });
  expect(await failureOfAsync(property, 100)).toBeUndefined();
});

const TOOLS: readonly CedarTool[] = TOOL_NAMES.map((name) => ({
  name,
  effect: "write",
  input: {
    type: "object",
    properties: { amountCents: { type: "integer" } },
    required: ["amountCents"],
  },
  facts: {},
}));

function cedarText(rules: readonly Drawn[]): string {
  return rules
    .map(({ effect, tool, from }, i) => {
      const resource = tool === null ? "resource" : `resource == Tool::"${tool}"`;
      const asks = effect === "require_approval" ? '@effect("require_approval") ' : "";
      const word = effect === "allow" ? "permit" : "forbid";
      const when = `when { context.args.amountCents >= ${from} }`;
      return `@id("r${i}") ${asks}${word}(principal, action, ${resource}) ${when};`;
    })
    .join("\n");
}

function expectedOfCedar(rules: readonly Drawn[], asked: PermitRequest): Answer {
  const has = (effect: RuleEffect): boolean =>
    rules.some((rule) => rule.effect === effect && matches(rule, asked));
  if (has("deny") || !has("allow")) return "deny";
  return has("require_approval") && asked.approved !== true ? "require_approval" : "allow";
}

test("a random policy text decides as its rules say, and a forbid more allows nothing", async () => {
  const property = fc.asyncProperty(drawnRules, drawnRule, request, async (rules, more, asked) => {
    const ask = async (set: readonly Drawn[]) =>
      permit(await createCedarPolicy({ text: cedarText(set), tools: TOOLS }), asked);
    const before = await ask(rules);
    const after = await ask([...rules, { ...more, effect: "deny" }]);
    const named = rules[Number(before.rule.slice(1))];
    const isNamed = named === undefined ? before.rule === "default_deny" : matches(named, asked);
    return (
      before.answer === expectedOfCedar(rules, asked) &&
      isNamed &&
      STRENGTH[after.answer] >= STRENGTH[before.answer]
    );
  });
  expect(await failureOfAsync(property, 60)).toBeUndefined();
});

test("whatever stands in arguments and facts, a text answers and never throws", async () => {
  const text = `permit(principal, action, resource)
    when { context.args has note && context.facts has "a.b" && context.facts["a.b"] == "x" };
    @id("no") forbid(principal, action, resource) when { context.args has amountCents };`;
  const open = TOOLS.map((tool) => ({ ...tool, input: {}, facts: { "a.b": "" } }));
  const policy = await createCedarPolicy({ text, tools: open });
  const anything = fc.dictionary(
    fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("note", "a.b", "amountCents")),
    fc.anything({ withBigInt: true, withDate: true, withMap: true }),
  );
  const property = fc.property(anything, anything, request, (args, facts, asked) => {
    const call = { ...asked, args, facts } as unknown as PermitRequest;
    const { answer } = policy.decide(call);
    return answer === "deny" || (Object.hasOwn(args, "note") && facts["a.b"] === "x");
  });
  expect(failureOf(property)).toBeUndefined();
});
