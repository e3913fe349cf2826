/** What is refused when a process starts, and how texts are named. */
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createCedarPolicy, type CedarTool } from "../../src/policy/cedar-policy.ts";

const tool = (name: string, effect: CedarTool["effect"], input: z.ZodType): CedarTool => ({
  name,
  effect,
  input: z.toJSONSchema(input, { io: "input" }) as CedarTool["input"],
  facts: { [`${name}.status`]: "/status" },
});

const TOOLS: readonly CedarTool[] = [
  tool("get_order", "read", z.strictObject({ orderId: z.string(), lines: z.int().default(5) })),
  tool(
    "create_refund",
    "write",
    z.strictObject({
      orderId: z.string(),
      amountCents: z.int(),
      currency: z.enum(["EUR", "USD"]),
      note: z.string().nullable(),
      reason: z.string().optional(),
      tags: z.array(z.string()),
      address: z.strictObject({ country: z.string(), zip: z.string().optional() }),
      when: z.union([z.string(), z.int()]),
      extra: z.record(z.string(), z.string()),
    }),
  ),
];

const create = (text: string, tools = TOOLS) => createCedarPolicy({ text, tools });
const permitWhen = (condition: string, tool = "create_refund") =>
  `permit(principal, action, resource == Tool::"${tool}") when { ${condition} };`;

/** The engine is compiled once a process; on a busy machine that is no test's time. */
beforeAll(async () => void (await createCedarPolicy({ text: "", tools: [] })));

describe("a text that cannot be used is refused with its position", () => {
  test.each([
    ["that ends too soon", "permit(principal, action", "1:25", "unexpected end of input"],
    ["with a word that is none", "// é\nallow(principal, action, resource);", "2:1", "allow"],
    ["with a condition that is none", permitWhen("context.args..x"), "1:82", "unexpected token"],
    ["that is a template", "permit(principal == ?principal, action, resource);", "1:1", "template"],
    [
      "with an effect that is none",
      '\n@effect("ask") forbid(principal, action, resource);',
      "2:1",
      "the only effect is require_approval",
    ],
    [
      "with a permit that asks for approval",
      '@effect("require_approval") permit(principal, action, resource);',
      "1:1",
      "belongs on a forbid",
    ],
  ])("%s", async (_name, text, path, words) => {
    await expect(create(text)).rejects.toMatchObject({ code: "PAWL_POLICY_INVALID", path });
    await expect(create(text)).rejects.toThrow(words);
  });

  test.each([
    ["an argument of no tool", "context.args.amount_cents > 1", "takes the argument amount_cents"],
    ["an argument tested only", "context.args has amont", "takes the argument amont"],
    ["a field of an argument", 'context.args.address.city == "x"', "attribute `args.address.city`"],
    ["a fact of no tool", 'context.facts["order.statu"] == "x"', "gives the fact order.statu"],
    [
      "a fact by its halves",
      'context.facts.get_order.status == "x"',
      'did you mean context.facts["get_order.status"]',
    ],
    ["a section that is none", "context.spend.steps > 1", "context has no spend"],
    ["a field that is none", "context.spent.money > 1", "attribute `spent.money`"],
    ["an attribute of the tool", "resource.efect", "did you mean `effect`"],
    ["a text compared with a number", "context.args.orderId == 1", "not compatible"],
    ["a text as an amount", 'context.args.amountCents > "1"', "expected Long but saw String"],
    ["a list of texts asked for a number", "context.args.tags.contains(1)", "not compatible"],
    [
      "two uses of a fact",
      'context.facts["get_order.status"] == 1 && context.facts["get_order.status"] == "a"',
      "not compatible",
    ],
    ["an action that is none", 'action == Action::"cal"', 'did you mean `Action::"call"`'],
    ["a kind of thing that is none", 'principal == User::"ann"', "did you mean"],
    [
      "a tool that is none",
      'resource == Tool::"create_refnd"',
      "the tools are get_order, create_refund",
    ],
  ])("that reads %s", async (_name, condition, words) => {
    await expect(create(permitWhen(condition))).rejects.toMatchObject({
      code: "PAWL_POLICY_INVALID",
    });
    await expect(create(permitWhen(condition))).rejects.toThrow(words);
  });

  test("whose scope names no tool", async () => {
    const text = permitWhen("true", "creat_refund");
    await expect(create(text)).rejects.toThrow('Tool::"creat_refund" is no tool');
  });

  test("that reads what only another tool takes", async () => {
    const text = `permit(principal, action, resource);
      @id("big") forbid(principal, action, resource) when { context.args.amountCents > 1 };`;
    const failure = { code: "PAWL_POLICY_INVALID", path: "2:61" };
    await expect(create(text)).rejects.toMatchObject(failure);
    await expect(create(text)).rejects.toThrow("big, for the tool get_order");
  });

  test.each([
    ["brackets", `${"(".repeat(3_000)}true${")".repeat(3_000)}`],
    ["lists", `${"[".repeat(200)}1${"]".repeat(200)} == 1`],
    ["ifs", `${"if true then true else ".repeat(3_000)}true`],
    ["terms", `${"true && ".repeat(1_000)}true`],
    ["names", `context${".a".repeat(1_000)}`],
    ["terms for the engine", `${"true || ".repeat(20_000)}true`],
    ["steps", `context${'["a"]'.repeat(5_000)}`],
  ])("with too many %s, and the engine lives on", async (_name, condition) => {
    const text = `permit(principal, action, resource) when { ${condition} };`;
    await expect(create(text)).rejects.toMatchObject({
      code: "PAWL_POLICY_INVALID",
      path: expect.stringMatching(/^1:\d+$/) as string,
    });
    expect((await create(permitWhen("true"))).ruleIds).toEqual(["policy0"]);
  });

  test("a bracket in a text or a comment is none", async () => {
    const text = `// ${"(".repeat(99)}\n${permitWhen(`context.args.orderId == "${'[\\"'.repeat(99)}"`)}`;
    expect((await create(text)).ruleIds).toEqual(["policy0"]);
  });
});

describe("what a text may say", () => {
  test.each([
    'context.args.currency == "EUR" && context.args.tags.contains("vip")',
    'context.args.address.country == "DE"',
    'context.args has reason && context.args.reason like "*late*"',
    'context.args has note && context.args.note != ""',
    'context.args has "when" && context.args["when"] == "now"',
    'context.args has extra && context.args.extra has colour && context.args.extra.colour == "red"',
    'context has customer && context.customer.id == "c-17" && context.ticket.customerId == "c-17"',
    'context.ticket.id like "T-*" && context.ticket.attributes.vip && context.ticket.attributes.level >= 3',
    '["a", "b"].contains(context.ticket.attributes.tier)',
    'context.facts["get_order.status"] == context.args.orderId',
    'context.facts["get_order.status"] == context.args.amountCents',
    'context.facts["get_order.status"] == context.facts["create_refund.status"] && context.facts["create_refund.status"] > 1',
    "context.spent.steps < 3 && context.spent.tokens < 3 && context.spent.moneyMicroUsd < 3",
    "context.spent has effectsOfRun && context.spent.effectsOfRun < 1",
    'principal == Agent::"refund" && action == Action::"call" && resource is Tool',
    'if context has customer then context.customer.id != "" else false',
    "!context.approved || -(context.args.amountCents) + 5 * 2 < 0",
    'context has args.address.zip && {a: context.args.address}.a.country == "x"',
  ])("%s", async (condition) => {
    expect((await create(permitWhen(condition))).ruleIds).toEqual(["policy0"]);
  });

  test.each([
    'resource == Tool::"create_refund" && context.args.amountCents > 1',
    'resource != Tool::"get_order" && context.args.amountCents > 1',
    'resource in [Tool::"create_refund"] && context.args.amountCents > 1',
    '[Tool::"create_refund"].contains(resource) && context.args.amountCents > 1',
    'resource.effect == "write" && context.args.amountCents > 1',
    '["write"].contains(resource.effect) && context.args.amountCents > 1',
    "context.args has amountCents && context.args.amountCents > 1",
    'context.args has lines && context.args.lines > 1 || resource == Tool::"create_refund"',
  ])("of one tool's arguments in a rule for all: %s", async (condition) => {
    const text = `forbid(principal, action, resource) when { ${condition} };`;
    expect((await create(text)).warnings).toEqual([]);
  });

  test("tools whose arguments Cedar cannot type are checked for everything else", async () => {
    const open: CedarTool = { name: "search", effect: "read", input: {}, facts: {} };
    const good = permitWhen("context.args has page && context.args.page > 1", "search");
    expect((await create(good, [open])).warnings).toEqual([]);
    const bad = permitWhen("context.args has page && context.spent.nothing > 1", "search");
    await expect(create(bad, [open])).rejects.toThrow("spent.nothing");
  });

  test("no text at all, which permits nothing", async () => {
    expect((await create("// later\n")).ruleIds).toEqual([]);
  });
});

describe("names", () => {
  const rule = (head: string) => `${head} permit(principal, action, resource);`;

  test("are the ids; where one is missing, empty or not its own, the policy's number", async () => {
    const heads = ['@id("first")', "", '@id("twice")', '@id("twice")', '@id("")', "@id"];
    const text = heads.map(rule).join("\n// between\n");
    const ids = ["first", "policy1", "policy2", "policy3", "policy4", "policy5"];
    expect((await create(text)).ruleIds).toEqual(ids);
  });

  test("stay in the order of the text beyond ten policies", async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `rule-${i}`);
    const text = ids.map((id) => rule(`@id("${id}")`)).join("\n");
    expect((await create(text)).ruleIds).toEqual(ids);
  });

  test("never meet: an id that looks like a number of another policy stays its own", async () => {
    const { ruleIds } = await create([rule('@id("policy1")'), rule("")].join("\n"));
    expect(ruleIds).toEqual(["policy1", "policy1_"]);
  });

  test("may be words of the language below", async () => {
    const ids = ["__proto__", "constructor", "toString"];
    expect((await create(ids.map((id) => rule(`@id("${id}")`)).join("\n"))).ruleIds).toEqual(ids);
  });
});

test("what may be missing where a policy reads it is a warning, told once", async () => {
  const { warnings } = await create(
    'permit(principal, action, resource) when { context.facts["get_order.status"] == "paid" };',
  );
  expect(warnings).toEqual([
    'policy0: facts["get_order.status"] may be missing: without `has` the call is then denied',
  ]);
});

test("what is required or has a default is never missing, what may be null is", async () => {
  const reading = async (condition: string, tool?: string) =>
    (await create(permitWhen(condition, tool))).warnings;
  expect(await reading("context.args.amountCents > 1")).toEqual([]);
  expect(await reading("context.args.lines > 1", "get_order")).toEqual([]);
  expect(await reading('context.args.note == "x"')).toHaveLength(1);
  expect(await reading('context.args.reason == "x"')).toHaveLength(1);
});

test("a terminal in the text is a warning: no policy is asked about one", async () => {
  const { warnings } = await create(permitWhen("true", "answer_user"));
  expect(warnings).toEqual([
    'policy0: Tool::"answer_user" is no tool of this agent but a terminal, which no policy is asked about',
  ]);
});

test("the version follows the text unless one is given", async () => {
  const [a, b] = [permitWhen("true"), permitWhen("false")];
  expect((await create(a)).version).toBe((await create(a)).version);
  expect((await create(a)).version).not.toBe((await create(b)).version);
  const given = await createCedarPolicy({ text: a, tools: TOOLS, version: "7" });
  expect(given.version).toBe("7");
});
