import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../src/agents/agent.ts";
import { PawlError } from "../../src/core/errors.ts";
import { DEFAULT_LIMITS } from "../../src/core/run-state.ts";
import { createRegistry } from "../../src/tools/registry.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tools/tool.ts";

const input = z.strictObject({ orderId: z.string(), limit: z.int().default(10) });

function toolOf(changes: Partial<ToolDefinition<typeof input>> = {}): Tool {
  return defineTool({
    name: "get_order",
    effect: "read",
    description: "Reads one order.",
    input,
    strict: false,
    handler: () => Promise.resolve({}),
    ...changes,
  });
}

function refusal(changes: Partial<ToolDefinition<typeof input>>): string | undefined {
  try {
    createRegistry([toolOf(changes)]);
    return undefined;
  } catch (error) {
    if (error instanceof PawlError && error.code === "PAWL_TOOL_INVALID") return error.path;
    throw error;
  }
}

describe("defineTool", () => {
  test("a tool carries the JSON Schema that the model sees, defaults optional", () => {
    expect(toolOf().input).toMatchObject({
      type: "object",
      required: ["orderId"],
      additionalProperties: false,
      properties: { orderId: { type: "string" }, limit: { default: 10 } },
    });
  });

  test("what is left out has a stated default", () => {
    expect(toolOf()).toMatchObject({
      normalize: {},
      identity: null,
      facts: {},
      about: {},
      observedAt: null,
      maxAgeMs: null,
      required: false,
      timeoutMs: 10_000,
      retries: 2,
      confirm: null,
      lookup: null,
    });
  });

  test("arguments are validated without conversion and defaults filled in", () => {
    expect(toolOf().parse({ orderId: "A-1" })).toEqual({
      ok: true,
      args: { orderId: "A-1", limit: 10 },
    });
    expect(toolOf().parse({ orderId: 1 })).toMatchObject({ ok: false, issues: /^\/orderId: / });
  });

  test("at most five issues are told", () => {
    const many = defineTool({
      name: "x",
      effect: "read",
      description: "",
      input: z.array(z.string()),
      handler: () => Promise.resolve(null),
    });
    const parsed = many.parse(Array.from({ length: 50 }, () => 1));
    expect(parsed.ok || parsed.issues.split(";")).toHaveLength(5);
  });
});

describe("createRegistry", () => {
  test("sound tools are found by their exact names", () => {
    const write = toolOf({
      name: "add_note",
      effect: "write",
      confirm: { pointer: "/state", equals: "ok" },
    });
    const registry = createRegistry([toolOf(), write]);
    expect([...registry.keys()]).toEqual(["get_order", "add_note"]);
    expect(registry.get("Get_Order")).toBeUndefined();
  });

  test("an input that no server can be held to is refused, unless the tool says so", () => {
    expect(refusal({ strict: true })).toBe("tools/get_order/input/properties/limit");
    expect(refusal({ strict: false })).toBeUndefined();
  });

  test.each(["GetOrder", "get-order", "1order", "", "get order", "x".repeat(65)])(
    "the name %j is refused",
    (name) => {
      expect(refusal({ name })).toBe(`tools/${name}/name`);
    },
  );

  test.each(["get_x", "read_x", "list_x", "search_x", "find_x", "fetch_x", "lookup_x", "check_x"])(
    "%s may not write",
    (name) => {
      expect(refusal({ name, effect: "write" })).toBe(`tools/${name}/effect`);
      expect(refusal({ name })).toBeUndefined();
    },
  );

  test.each(["get_or_create_order", "find_or_create", "order_read_or_write", "upsert_or_get"])(
    "%s is refused with either effect",
    (name) => {
      expect(refusal({ name })).toBe(`tools/${name}/name`);
      expect(refusal({ name, effect: "write" })).toBe(`tools/${name}/name`);
    },
  );

  test("a name that only begins like a reading one may write", () => {
    expect(refusal({ name: "getaway_note", effect: "write" })).toBeUndefined();
  });

  test("a read has no effect to confirm or to look up", () => {
    expect(refusal({ confirm: { pointer: "/x", equals: 1 } })).toBe("tools/get_order/confirm");
    const lookup = () => Promise.resolve({ found: false as const });
    expect(refusal({ lookup })).toBe("tools/get_order/confirm");
  });

  test.each([
    ["facts/a", { facts: { a: "status" } }],
    ["about/orderId", { about: { orderId: "id" } }],
    ["observedAt", { observedAt: "at" }],
    ["facts/b", { facts: { a: "", b: "/~2" } }],
  ])("what is no JSON pointer is refused at %s", (path, changes) => {
    expect(refusal(changes)).toBe(`tools/get_order/${path}`);
  });

  test("the pointer of a confirmation is checked too", () => {
    const changes = { name: "add_note", effect: "write" as const };
    expect(refusal({ ...changes, confirm: { pointer: "state", equals: 1 } })).toBe(
      "tools/add_note/confirm/pointer",
    );
  });

  test("a field of the identity or of a normaliser is a field of the input", () => {
    expect(refusal({ identity: ["order"] })).toBe("tools/get_order/identity/order");
    expect(refusal({ normalize: { order: ["trim"] } })).toBe("tools/get_order/identity/order");
    expect(refusal({ identity: ["toString"] })).toBe("tools/get_order/identity/toString");
    expect(refusal({ identity: ["orderId"], normalize: { limit: [] } })).toBeUndefined();
  });

  test("a maximum age needs the time of observation", () => {
    expect(refusal({ maxAgeMs: 1 })).toBe("tools/get_order/observedAt");
    expect(refusal({ maxAgeMs: 1, observedAt: "/at" })).toBeUndefined();
  });

  test("one name twice is refused", () => {
    expect(() => createRegistry([toolOf(), toolOf()])).toThrow("registered twice");
  });
});

describe("defineAgent", () => {
  const base = { name: "orders", version: "1", instructions: "", tools: [toolOf()] };
  const fault = (path: string) => expect.objectContaining({ code: "PAWL_AGENT_INVALID", path });

  test("the three terminals and the usual limits are there unless replaced", () => {
    const agent = defineAgent({ ...base, limits: { steps: 9 } });
    expect([...agent.terminals.keys()]).toEqual([
      "answer_user",
      "ask_clarification",
      "request_handoff",
    ]);
    expect(agent.limits).toEqual({ ...DEFAULT_LIMITS, steps: 9 });
  });

  test("a terminal that does not exist is refused", () => {
    expect(() => defineAgent({ ...base, terminals: ["finish"] })).toThrow(
      fault("terminals/finish"),
    );
  });

  test("a tool may not have the name of a terminal", () => {
    const tools = [toolOf({ name: "answer_user", effect: "write" })];
    expect(() => defineAgent({ ...base, tools })).toThrow(fault("tools/answer_user"));
  });

  test.each([
    ["postcondition/0", { postcondition: [{ fact: "nope", exists: true }] }],
    ["rules/r1", { contradictions: [{ id: "r1", when: [{ fact: "nope", exists: true }] }] }],
    ["effectMessage", { effectMessage: "Paid: {{nope}}." }],
    ["rules/r2", { missingData: [{ id: "r2", when: [{ fact: "nope", equals: 1 }] }] }],
  ])("a rule over a fact that no tool gives is refused at %s", (path, changes) => {
    expect(() => defineAgent({ ...base, ...changes })).toThrow(fault(path));
  });
});
