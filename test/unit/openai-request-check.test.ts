import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { createRequestCheck } from "../../src/providers/openai-request-check.ts";

const check = await createRequestCheck();

const tool = {
  type: "function",
  name: "get_order",
  parameters: { type: "object" },
  strict: false,
};
const asked: JsonObject = { type: "message", role: "user", content: "hello" };
const reasoning: JsonObject = { type: "reasoning", id: "rs_1", summary: [] };
const call = (id: string, own: JsonObject = {}): JsonObject => ({
  type: "function_call",
  call_id: id,
  name: "get_order",
  arguments: "{}",
  ...own,
});
const output = (id: string): JsonObject => ({
  type: "function_call_output",
  call_id: id,
  output: "{}",
});
const response = (input: readonly Json[], more: JsonObject = {}): JsonObject => ({
  model: "gpt",
  input: [...input],
  tools: [tool],
  ...more,
});

const chatCall = (id: string, name = "get_order", args = "{}"): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
});
const chat = (messages: readonly Json[], more: JsonObject = {}): JsonObject => ({
  model: "gpt",
  messages: [{ role: "user", content: "hello" }, ...messages],
  ...more,
});
const told = (id: string): JsonObject => ({ role: "tool", tool_call_id: id, content: "{}" });

describe("a request over Responses", () => {
  test.each([
    ["with a call and its output", [asked, call("c1"), output("c1")]],
    [
      "with reasoning before the call that it led to",
      [asked, reasoning, call("c1", { id: "fc_1" }), output("c1")],
    ],
  ])("%s is taken", (_, input) => {
    expect(check.whyRefused("responses", response(input))).toBeNull();
  });

  test.each([
    ["a call without its output", [asked, call("c1")]],
    ["a call without its output", [asked, call("c1"), asked, output("c1")]],
    ["an output without its call", [asked, output("c1")]],
    ["two calls of one id", [call("c1"), output("c1"), call("c1"), output("c1")]],
    ["a reasoning item without its following item", [asked, reasoning]],
    ["a reasoning item without its following item", [reasoning, asked]],
    ["a reasoning item without its following item", [reasoning, call("c1"), output("c1")]],
    ["no server takes the name of a call", [call("c1", { name: "get order" }), output("c1")]],
    ["arguments that are no JSON object", [call("c1", { arguments: "[]" }), output("c1")]],
    ["half of a surrogate pair", [{ ...asked, content: "\ud83c" }]],
  ])("is refused for %s", (why, input) => {
    expect(check.whyRefused("responses", response(input))).toBe(why);
  });

  test("is refused for a field that OpenAI does not know, and for a tool twice", () => {
    const odd = response([asked], { temprature: 1 });
    expect(check.whyRefused("responses", odd)).toContain("unevaluated");
    const twice = response([asked], { tools: [tool, tool] });
    expect(check.whyRefused("responses", twice)).toBe("two tools of one name");
  });

  test("shows what may be called and every text, without our own arguments", () => {
    const args = '{"orderId":"A-1","_reason":"why","_expected":{"fields":[]}}';
    const body = response([asked, call("c1", { arguments: args }), output("c1")], {
      instructions: "Be kind.",
      tool_choice: { type: "allowed_tools", mode: "required", tools: [tool] },
      tools: [tool, { ...tool, name: "other" }],
    });
    expect(check.shown("responses", body)).toEqual({
      tools: ["get_order"],
      text: 'Be kind.\nhello\nget_order {"orderId":"A-1"}\n{}',
    });
  });
});

describe("a request over Chat Completions", () => {
  test("with a call and its tool message is taken", () => {
    expect(check.whyRefused("chat", chat([chatCall("c1"), told("c1")]))).toBeNull();
  });

  test.each([
    ["a call without its tool message", [chatCall("c1")]],
    ["a call without its tool message", [chatCall("c1"), { role: "user", content: "x" }]],
    ["a tool message without its call", [told("c1")]],
    ["two calls of one id", [chatCall("c1"), told("c1"), chatCall("c1"), told("c1")]],
    ["no server takes the name of a call", [chatCall("c1", "get order"), told("c1")]],
    ["arguments that are no JSON object", [chatCall("c1", "get_order", "{"), told("c1")]],
  ])("is refused for %s", (why, messages) => {
    expect(check.whyRefused("chat", chat(messages))).toBe(why);
  });

  test("is refused for a field that OpenAI does not know", () => {
    expect(check.whyRefused("chat", chat([], { num_ctx: 1 }))).toContain("unevaluated");
  });

  test("shows the whole list of tools where nothing narrows it", () => {
    const { name, ...own } = tool;
    const body = chat([], { tools: [{ type: "function", function: { name, ...own } }] });
    expect(check.shown("chat", body)).toEqual({ tools: ["get_order"], text: "hello" });
  });
});
