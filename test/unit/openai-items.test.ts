/** Reasoning travels with the call that it led to, and with nothing else. */
import { describe, expect, test } from "vitest";
import type { ContextMessage } from "../../src/core/context.ts";
import { itemsOfCalls, keepItems } from "../../src/providers/openai-items.ts";

const THOUGHT = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
const CALL = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "get_order",
  arguments: '{"orderId":"A-1"}',
};
const SAID = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Let me look.", annotations: [{ type: "odd" }] }],
};
const FROM = { model: "m", outputTokens: 70 };

const kept = (...output: unknown[]): unknown => JSON.parse(keepItems(output, FROM) ?? "null");

/** A context that shows these calls, each with its result. */
const shown = (...calls: { readonly id: string; readonly items?: string }[]): ContextMessage[] =>
  calls.flatMap((call): ContextMessage[] => [
    {
      role: "assistant",
      text: null,
      calls: [{ tool: "get_order", args: "{}", reason: "", expected: null, ...call }],
    },
    { role: "tool", callId: call.id, text: "{}" },
  ]);
const callIdsOf = (texts: readonly string[], model = "m") => {
  const refs = new Map(texts.map((text, i) => [`i${i}`, text]));
  const calls = texts.map((_, i) => ({ id: `c${i + 1}`, items: `i${i}` }));
  const found = itemsOfCalls(shown(...calls), refs, model);
  return calls.map(({ id }) => found.get(id)?.items.at(-1)?.["call_id"]);
};

describe("what is kept of a reply", () => {
  test("the reasoning and its call, with the server's ids, in order", () => {
    expect(kept(THOUGHT, CALL)).toEqual({ model: "m", tokens: 70, items: [THOUGHT, CALL] });
  });

  test("what was said between them, with the fields that a server takes back", () => {
    const said = {
      ...SAID,
      content: [{ type: "output_text", text: "Let me look.", annotations: [], logprobs: [] }],
    };
    expect(kept(THOUGHT, SAID, CALL)).toMatchObject({ items: [THOUGHT, said, CALL] });
  });

  test("nothing after the first call: the others are made in steps of their own", () => {
    const second = { ...CALL, id: "fc_2", call_id: "call_2" };
    expect(kept(THOUGHT, CALL, { ...THOUGHT, id: "rs_2" }, second)).toMatchObject({
      items: [THOUGHT, CALL],
    });
  });

  test("fields that no server knows are left out", () => {
    expect(kept({ ...THOUGHT, odd: 1, status: null }, { ...CALL, odd: 2 })).toMatchObject({
      items: [THOUGHT, CALL],
    });
  });

  test.each([
    ["a call without reasoning", [CALL]],
    ["reasoning without a call", [THOUGHT]],
    ["reasoning that led to a text", [THOUGHT, SAID]],
    ["nothing", []],
    ["an item that cannot be sent again", [THOUGHT, { type: "web_search_call", id: "w" }, CALL]],
    ["reasoning without an id", [{ ...THOUGHT, id: "" }, CALL]],
    ["more than fits", [{ ...THOUGHT, encrypted_content: "x".repeat(32_000) }, CALL]],
    ["items that are none", [null, 1, "x", THOUGHT, CALL]],
  ])("%s: null", (_, output) => {
    expect(keepItems(output, FROM)).toBeNull();
  });

  test("without a count its tokens are guessed from above", () => {
    const text = keepItems([THOUGHT, CALL], { model: "m", outputTokens: null }) ?? "";
    expect(JSON.parse(text)).toMatchObject({ tokens: expect.any(Number) });
    expect((JSON.parse(text) as { tokens: number }).tokens).toBeGreaterThan(50);
  });
});

describe("what is shown again", () => {
  const text = keepItems([THOUGHT, CALL], FROM) ?? "";
  const with_ = (callId: string) => keepItems([THOUGHT, { ...CALL, call_id: callId }], FROM) ?? "";

  test("the server's call id is used as it is", () => {
    expect(callIdsOf([text])).toEqual(["call_1"]);
  });

  test.each([
    ["twice the same", ["call_1", "call_1"], ["call_1", "c2"]],
    ["empty", ["", "call_1"], ["c1", "call_1"]],
    ["one of ours", ["c2", "call_1"], ["c1", "call_1"]],
    ["too long to send", ["x".repeat(65)], ["c1"]],
  ])("an id that is %s is replaced by our own", (_, given, sent) => {
    expect(callIdsOf(given.map(with_))).toEqual(sent);
  });

  test("another model's reasoning is left out", () => {
    expect(callIdsOf([text], "another")).toEqual([undefined]);
  });

  test.each(["", "null", "{}", '{"model":"m","tokens":1,"items":[]}'])(
    "a kept text that is broken (%j) is left out",
    (broken) => {
      expect(callIdsOf([broken])).toEqual([undefined]);
    },
  );

  test("a text that is gone is left out", () => {
    expect(itemsOfCalls(shown({ id: "c1", items: "gone" }), new Map(), "m").size).toBe(0);
    expect(itemsOfCalls(shown({ id: "c1", items: "gone" }), undefined, "m").size).toBe(0);
  });
});
