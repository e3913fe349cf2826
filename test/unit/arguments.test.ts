import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readArguments, readToolArguments } from "../../src/core/arguments.ts";
import { defineTool } from "../../src/tools/tool.ts";

const tagOrder = defineTool({
  name: "tag_order",
  effect: "read",
  description: "",
  input: z.strictObject({
    orderId: z.string().default("A-1"),
    tags: z.array(z.string()).optional(),
    limit: z.int().default(10),
    body: z.string().optional(),
  }),
  normalize: { orderId: ["trim", "upper", "nospace"] },
  handler: () => Promise.resolve({}),
});

describe("readArguments", () => {
  test.each(["", "  ", "\n\t"])("blank text %j means no arguments", (text) => {
    expect(readArguments({ text })).toEqual({ ok: true, args: {} });
  });

  test.each(['{"orderId": A1}', '{"a":1', "{'a':1}", '{"a":1} trailing', '{"a":1}{"a":1}', "nil"])(
    "%s is not JSON and not repaired",
    (text) => {
      expect(readArguments({ text })).toMatchObject({ ok: false });
    },
  );

  test.each([
    ["[1]", "a list of 1"],
    ["null", "null"],
    ['"{}"', "a string"],
    ["7", "a number"],
  ])("%s is JSON but no object", (text, kind) => {
    const message = `arguments must be a JSON object, not ${kind}`;
    expect(readArguments({ text })).toEqual({ ok: false, message });
  });

  test("what was not JSON in the process is refused with its kind", () => {
    expect(readArguments({ notJson: "/n is a bigint" })).toEqual({
      ok: false,
      message: "arguments are not JSON: /n is a bigint",
    });
  });

  test.each(['{"id":12345678901234567890}', '{"a":[-9007199254740993]}', '{"n":1e400}'])(
    "a number that a double cannot hold is refused: %s",
    (text) => {
      expect(readArguments({ text })).toMatchObject({ ok: false, message: /loses digits/ });
    },
  );

  test.each([
    '{"id":9007199254740991}',
    '{"id":"12345678901234567890"}',
    '{"id":"\\"12345678901234567890"}',
    '{"n":0.1}',
    '{"n":-0}',
  ])("digits that are kept, or that stand in a text, are taken: %s", (text) => {
    expect(readArguments({ text })).toMatchObject({ ok: true });
  });

  test.each(['{"__proto__":{"admin":true}}', '{"a":{"__proto__":1}}', '{"a":[{"__proto__":1}]}'])(
    "__proto__ is refused at any depth: %s",
    (text) => {
      expect(readArguments({ text })).toMatchObject({ ok: false, message: /__proto__/ });
    },
  );

  test("constructor is a name like any other", () => {
    expect(readArguments({ text: '{"constructor":1}' })).toEqual({
      ok: true,
      args: { constructor: 1 },
    });
  });

  test("half of a surrogate pair is refused, in a value and in a name", () => {
    for (const text of ['{"body":"\\ud83c"}', '{"\\udf78":1}']) {
      expect(readArguments({ text })).toMatchObject({ ok: false, message: /surrogate/ });
    }
  });

  test("an escaped pair is one character", () => {
    expect(readArguments({ text: '{"body":"\\ud83c\\udf78"}' })).toEqual({
      ok: true,
      args: { body: "🍸" },
    });
  });

  test("a nesting that overflows the stack is refused, not thrown", () => {
    const text = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    expect(readArguments({ text })).toMatchObject({ ok: false });
  });
});

describe("readToolArguments", () => {
  test("defaults are filled in and texts are normalised", () => {
    expect(readToolArguments(tagOrder, { json: { orderId: " a- 7 " } })).toEqual({
      ok: true,
      args: { orderId: "A-7", limit: 10 },
    });
  });

  test("a default that is written or left out gives the same arguments", () => {
    expect(readToolArguments(tagOrder, { json: { limit: 10 } })).toEqual(
      readToolArguments(tagOrder, { json: {} }),
    );
  });

  test.each([
    ["a list sent as text", { tags: '["vip"]' }],
    ["a number sent as text", { limit: "10" }],
    ["null for an optional field", { limit: null }],
    ["a field that is not there", { approved: true }],
  ])("%s is refused, never converted", (_name, json) => {
    expect(readToolArguments(tagOrder, { json })).toMatchObject({ ok: false });
  });

  test("a refusal names the place and never repeats the value", () => {
    const reading = readToolArguments(tagOrder, { json: { limit: "my secret" } });
    expect(reading).toMatchObject({ ok: false, message: /^\/limit: / });
    expect(JSON.stringify(reading)).not.toContain("secret");
  });

  test("a text that looks like a list stays that text", () => {
    const body = '[vip]: {"a":1} see [~x]';
    expect(readToolArguments(tagOrder, { json: { body } })).toMatchObject({ args: { body } });
  });
});
