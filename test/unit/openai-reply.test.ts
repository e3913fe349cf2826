import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readReply, type ReadReply } from "../../src/providers/wire-reply.ts";
import { parseExchanges, readExchange } from "../../src/providers/recorded-exchange.ts";

const NOW = Date.parse("2026-12-04T00:00:00Z");

function replyOf(read: ReadReply) {
  if (!read.ok) throw new Error(`no reply: ${read.fault.message}`);
  return read.reply;
}

const chatBody = (message: object, finish: string | null = "stop", more = {}) => ({
  model: "m",
  choices: [{ finish_reason: finish, message }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
  ...more,
});
const chat = (message: object, finish: string | null = "stop", more = {}) =>
  readReply("chat", chatBody(message, finish, more), NOW);
const toolCall = (changes: object = {}) => ({
  id: "call_1",
  type: "function",
  function: { name: "get_order", arguments: '{"orderId":"A-1"}', ...changes },
});

const response = (output: object[], more: object = {}) =>
  readReply("responses", { status: "completed", output, model: "m", ...more }, NOW);
const functionCall = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
const said = (text: string) => ({
  type: "message",
  content: [{ type: "output_text", text }],
});

describe("a chat completion", () => {
  test.each([
    ["tool_calls", "tool_calls"],
    ["stop", "tool_calls"],
    ["function_call", "function_call"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["eos", "eos"],
    [null, "unknown"],
    ["", "unknown"],
  ])("that ended %s with a call ended %s", (finish, want) => {
    expect(replyOf(chat({ tool_calls: [toolCall()] }, finish)).finish).toBe(want);
  });

  test("arguments keep every byte of their text", () => {
    const args = '{"id": 12345678901234567890, "x": 1.0}';
    const { calls } = replyOf(chat({ tool_calls: [toolCall({ arguments: args })] }));
    expect(calls).toEqual([{ id: "call_1", name: "get_order", args }]);
  });

  test.each([
    [{ orderId: "A-1" }, '{"orderId":"A-1"}'],
    [null, ""],
    ["", ""],
  ])("arguments %j are the text %j", (given, args) => {
    expect(replyOf(chat({ tool_calls: [toolCall({ arguments: given })] })).calls).toMatchObject([
      { args },
    ]);
  });

  test("an id that is missing or empty is made, another one for each call", () => {
    const calls = [
      { ...toolCall(), id: "" },
      { ...toolCall(), id: null },
    ];
    const { calls: read } = replyOf(chat({ tool_calls: calls }));
    expect(read.map((call) => call.id)).toEqual(["call_1", "call_2"]);
  });

  test("a body without usage, or a call without arguments, is read all the same", () => {
    const { usage: _none, ...body } = chatBody({
      tool_calls: [{ id: "c", function: { name: "f" } }],
    });
    const reply = replyOf(readReply("chat", body, NOW));
    expect(reply).toMatchObject({ usage: null, calls: [{ name: "f", args: "" }] });
  });

  test("a refusal is one even beside calls", () => {
    const reply = replyOf(chat({ refusal: "I cannot.", tool_calls: [toolCall()] }, "tool_calls"));
    expect(reply).toMatchObject({ finish: "refusal", text: "I cannot." });
  });

  test("a text in parts is one text; null parts and usage are allowed", () => {
    const content = [{ type: "text", text: "a" }, { type: "text", text: "b" }, { type: "x" }];
    const reply = replyOf(
      chat({ content, tool_calls: null, refusal: null }, "stop", { usage: null }),
    );
    expect(reply).toMatchObject({ finish: "stop", text: "ab", calls: [], usage: null });
  });

  test.each([["<html>"], [null], [{}], [{ choices: [] }], [{ error: { code: 429 } }]])(
    "%j is no reply",
    (body) => {
      expect(readReply("chat", body, NOW)).toMatchObject({ ok: false, usage: null });
    },
  );

  test("an error that tells its usage is paid", () => {
    const body = { error: {}, usage: { prompt_tokens: 9, completion_tokens: 1 } };
    expect(readReply("chat", body, NOW)).toMatchObject({
      ok: false,
      fault: { fate: "reported" },
      usage: { input: 9, output: 1 },
    });
  });
});

describe("a response", () => {
  test("its items keep their order, so that reasoning travels with its calls", () => {
    const items = [{ type: "reasoning", encrypted_content: "e" }, functionCall, said("ok")];
    const reply = replyOf(response(items));
    expect(reply).toMatchObject({ finish: "completed", text: "ok", items });
    expect(reply.calls).toEqual([{ id: "call_1", name: "f", args: "{}" }]);
  });

  test("items of unknown kinds are kept and not executed", () => {
    const reply = replyOf(response([{ type: "dance", name: "f", arguments: "{}" }]));
    expect(reply.calls).toEqual([]);
    expect(reply.items).toHaveLength(1);
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
    ["max_messages", "max_messages"],
    [null, "unknown"],
  ])("cut by %s it ended %s, calls or not", (reason, finish) => {
    const more = { status: "incomplete", incomplete_details: { reason } };
    expect(replyOf(response([functionCall], more)).finish).toBe(finish);
  });

  test("a refusal part is a refusal", () => {
    const content = [{ type: "refusal", refusal: "I cannot." }];
    expect(replyOf(response([{ type: "message", content }]))).toMatchObject({
      finish: "refusal",
      text: "I cannot.",
    });
  });

  test.each([
    ["failed", { error: { code: "server_error" } }, "retry"],
    ["failed", { error: { code: "rate_limit_exceeded" } }, "rate_limit"],
    ["failed", { error: { code: "invalid_prompt" } }, "content"],
    ["queued", {}, "retry"],
    ["in_progress", {}, "retry"],
    ["cancelled", {}, "retry"],
  ])("of status %s with %j is an error: %s", (status, more, disposition) => {
    expect(response([functionCall], { status, ...more })).toMatchObject({
      ok: false,
      fault: { disposition },
    });
  });

  test("a failed one that tells its usage is paid", () => {
    const usage = { input_tokens: 9, output_tokens: 1 };
    expect(response([], { status: "failed", usage })).toMatchObject({
      fault: { fate: "reported" },
      usage: { input: 9 },
    });
  });
});

describe("recorded exchanges", () => {
  const file = readFileSync(new URL("../fixtures/openai/exchanges.json", import.meta.url), "utf8");
  const interactions = parseExchanges(file);
  const read = interactions.map((one, i) => readExchange(one, i, NOW));

  test("each is read to its decision, refusal or error", () => {
    const told = read.map((exchange) => {
      if (exchange === null) return "not a model call";
      const { api, read: found } = exchange;
      if (!found.ok) return `${api} error ${found.fault.disposition}`;
      const { finish, calls } = found.reply;
      return `${api} ${finish} ${calls.map((call) => call.name).join(" ")}`.trim();
    });
    expect(told).toEqual([
      "responses completed get_user_country",
      "responses error final",
      "chat tool_calls delete_file create_file",
      "chat tool_calls get_weather get_product_name",
      "chat refusal",
      "chat error rate_limit",
      "responses completed get_meaning_of_life",
      "responses error retry",
      "not a model call",
    ]);
  });

  test("a stream's usage and arguments are those of its chunks together", () => {
    const stream = read[3]?.read;
    if (stream === undefined) throw new Error("no stream");
    expect(replyOf(stream)).toMatchObject({
      usage: { input: 417, output: 44 },
      calls: [{ args: '{"city": "Mexico City"}' }, { args: "{}" }],
    });
  });

  test.each([
    ["{", "/"],
    ["{}", "/interactions"],
    ['{"interactions":[{"path":1}]}', "/interactions/0/path"],
  ])("a file %j is refused at %s", (text, path) => {
    expect(() => parseExchanges(text)).toThrow(
      expect.objectContaining({ code: "PAWL_EXCHANGE_INVALID", path }),
    );
  });

  test("a stream that is cut short or broken is no reply", () => {
    const one = { path: "/v1/responses", status: 200, request: {}, sse: "data: {oops\n\n" };
    expect(readExchange(one, 0, NOW)?.read).toMatchObject({ ok: false });
    const chunk = { ...one, path: "/v1/chat/completions", sse: "" };
    expect(readExchange(chunk, 0, NOW)?.read).toMatchObject({ ok: false });
  });
});
