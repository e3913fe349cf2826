import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Expectation } from "../../src/core/decision.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { verify } from "../../src/core/verify.ts";
import { defineTool, type ToolDefinition } from "../../src/tools/tool.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, factOf, runningState } from "../support/run-fixture.ts";

const input = z.strictObject({ orderId: z.string() });

function setup(
  changes: Partial<ToolDefinition<typeof input>> = {},
  stateChanges: Partial<RunState> = {},
) {
  const tool = defineTool({
    name: "get_order",
    effect: "read",
    description: "",
    input,
    normalize: { orderId: ["trim", "upper"] },
    about: { orderId: "/id" },
    facts: { "order.status": "/status", "order.lines": "/lines" },
    handler: () => Promise.resolve({}),
    ...changes,
  });
  const state = runningState(orderDomain().agent, stateChanges);
  const see = (result: Json, expected: Partial<Expectation> = {}, args: JsonObject = ARGS) => {
    const whole = { about: { orderId: "A-1" }, fields: [EXISTS], ...expected };
    return verify(state, tool, { callId: "c3", step: 2, args, expected: whole, result, at: AT });
  };
  return { tool, see };
}

const ARGS = { orderId: "A-1" };
const EXISTS = { pointer: "/status", check: "exists" as const };

describe("confirmed", () => {
  test("a result that is as expected gives facts with their sources and no question", () => {
    expect(setup().see({ id: "A-1", status: "paid" })).toEqual({
      verdict: "confirmed",
      why: [],
      question: null,
      facts: [
        {
          id: "f1",
          key: "order.status",
          value: "paid",
          step: 2,
          callId: "c3",
          tool: "get_order",
          pointer: "/status",
          observedAt: AT,
          about: { orderId: "A-1" },
          partial: false,
        },
      ],
    });
  });

  test("the entity is compared after the tool's own normalisers", () => {
    const { see } = setup();
    const seen = see({ id: " a-1", status: "x" }, { about: { orderId: "a-1 " } });
    expect(seen).toMatchObject({ verdict: "confirmed", facts: [{ about: { orderId: "A-1" } }] });
  });

  test.each([[0], [""], [false], [[]], [{}], [null]])("%j is a value that exists", (status) => {
    const seen = setup().see({ id: "A-1", status });
    expect(seen).toMatchObject({ verdict: "confirmed", facts: [{ value: status }] });
  });

  test("what is known already keeps the id of its first observation", () => {
    const known = factOf("order.status", "paid", { id: "f7" });
    const { see } = setup({}, { facts: [known] });
    expect(see({ id: "A-1", status: "paid", lines: [] }).facts).toMatchObject([
      { id: "f7", key: "order.status" },
      { id: "f2", key: "order.lines" },
    ]);
  });
});

describe("contradicted", () => {
  test("the observed value still becomes a fact and a question stays open", () => {
    const field = { pointer: "/status", check: "equals" as const, value: "closed" };
    const seen = setup().see({ id: "A-1", status: "pending" }, { fields: [field] });
    expect(seen).toMatchObject({
      verdict: "contradicted",
      why: ['expected: /status equals "closed"'],
      facts: [{ key: "order.status", value: "pending" }],
      question: { id: "q1", open: true, pointers: ["/status"], about: { orderId: "A-1" } },
    });
  });
});

describe("unconfirmed", () => {
  test.each([
    ["a missing field", { id: "A-1" }, "missing: /status exists"],
    ["another entity", { id: "A-2", status: "x" }, "the result is about another orderId"],
    ["no entity", { status: "x" }, "the result does not say which orderId it is about"],
    ["a list in place of an object", [], "the result does not say which orderId it is about"],
  ])("%s gives no fact and an open question", (_name, result, why) => {
    const seen = setup().see(result);
    expect(seen).toMatchObject({ verdict: "unconfirmed", facts: [], question: { open: true } });
    expect(seen.why).toContain(why);
  });

  test("a result about what was asked but not about what was expected proves nothing", () => {
    const { see } = setup();
    const seen = see({ id: "A-1", status: "x" }, { about: { orderId: "A-9" } });
    expect(seen).toMatchObject({ verdict: "unconfirmed", facts: [] });
  });

  test("an entity that the tool cannot tell must be the one that was asked for", () => {
    const { see } = setup({ about: {} });
    expect(see({ status: "x" }).verdict).toBe("confirmed");
    expect(see({ status: "x" }, { about: { orderId: "A-9" } }).verdict).toBe("unconfirmed");
    expect(see({ status: "x" }, { about: { customer: "C-1" } }).verdict).toBe("unconfirmed");
  });

  test("a missing field outweighs a contradicted one", () => {
    const fields = [EXISTS, { pointer: "/id", check: "equals" as const, value: "B" }];
    const seen = setup().see({ id: "A-1" }, { fields });
    expect(seen).toMatchObject({ verdict: "unconfirmed", facts: [] });
    expect(seen.question?.pointers).toEqual(["/status", "/id"]);
  });
});

describe("age", () => {
  const aged = { observedAt: "/at", maxAgeMs: 600_000 };
  const result = (at: Json): JsonObject => ({ id: "A-1", status: "x", at });

  test.each([
    ["now", AT, "confirmed"],
    ["at the bound", AT - 600_000, "confirmed"],
    ["one ms beyond it", AT - 600_001, "unconfirmed"],
    ["as a text", new Date(AT - 1_000).toISOString(), "confirmed"],
    ["a day old as a text", new Date(AT - 86_400_000).toISOString(), "unconfirmed"],
    ["not a time", "yesterday", "unconfirmed"],
    ["null", null, "unconfirmed"],
    ["an empty text", "", "unconfirmed"],
  ])("%s", (_name, at, verdict) => {
    const seen = setup(aged).see(result(at));
    expect(seen.verdict).toBe(verdict);
    expect(seen.facts).toHaveLength(verdict === "confirmed" ? 1 : 0);
  });

  test("a result without the time of observation is unconfirmed", () => {
    expect(setup(aged).see({ id: "A-1", status: "x" }).verdict).toBe("unconfirmed");
  });

  test("a fact carries the time that its source gives", () => {
    expect(setup(aged).see(result(AT - 5)).facts).toMatchObject([{ observedAt: AT - 5 }]);
  });
});

describe("cut facts", () => {
  const seen = (lines: Json) => setup().see({ id: "A-1", status: "x", lines }).facts[1];

  test("a long list keeps its first items and is marked partial", () => {
    const lines = Array.from({ length: 500 }, (_, i) => `row ${i}`);
    const fact = seen(lines);
    expect(fact).toMatchObject({ partial: true });
    expect(fact?.value).toContain("row 0");
    expect(JSON.stringify(fact?.value).length).toBeLessThanOrEqual(2_000);
  });

  test("a long text and a long object are cut too", () => {
    expect(seen("x".repeat(5_000))).toMatchObject({ partial: true });
    const entries = Array.from({ length: 500 }, (_, i) => [`k${i}`, i] as const);
    expect(seen(Object.fromEntries(entries))).toMatchObject({ partial: true });
  });

  test("a cut text ends with a whole character", () => {
    const fact = seen(`${"x".repeat(1_999)}${"🍸".repeat(500)}`);
    // The u flag sees a whole pair as one character, so only a lone half matches.
    expect(fact?.value).not.toMatch(/\p{Surrogate}/u);
  });

  test("what fits is whole", () => {
    expect(seen(["a", "b"])).toMatchObject({ partial: false, value: ["a", "b"] });
  });
});
