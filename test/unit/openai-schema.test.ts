import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { readStrict } from "../../src/core/strict-schema.ts";
import { readWireArguments, writeWireArguments } from "../../src/providers/openai-args.ts";
import { expectationOf, wireTool, withoutNulls } from "../../src/providers/openai-schema.ts";

const schemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" }) as JsonObject;

const search = schemaOf(
  z.strictObject({
    q: z.string().min(1),
    limit: z.int().default(10),
    tags: z.array(z.strictObject({ name: z.string(), weight: z.number().optional() })).optional(),
    note: z.string().nullable(),
  }),
);

const strictOf = (schema: JsonObject) => {
  const read = readStrict(schema, "nullable");
  return read.ok ? read.schema : null;
};

describe("readStrict", () => {
  test("every key is required, what was optional is nullable, nothing else is allowed", () => {
    expect(strictOf(search)).toMatchObject({
      required: ["q", "limit", "tags", "note"],
      additionalProperties: false,
      properties: {
        q: { type: "string", minLength: 1 },
        limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
        tags: {
          anyOf: [
            {
              items: {
                required: ["name", "weight"],
                properties: { weight: { anyOf: [{ type: "number" }, { type: "null" }] } },
              },
            },
            { type: "null" },
          ],
        },
        note: { type: ["string", "null"] },
      },
    });
    expect(JSON.stringify(strictOf(search))).not.toContain("default");
  });

  test.each([
    ["a map", z.strictObject({ map: z.record(z.string(), z.string()) })],
    ["a loose object", z.looseObject({ a: z.string() })],
    ["anything", z.strictObject({ any: z.any() })],
    ["a tuple", z.strictObject({ pair: z.tuple([z.string(), z.string()]) })],
  ])("%s has no strict form", (_, schema) => {
    expect(strictOf(schemaOf(schema))).toBeNull();
  });

  test("where nothing may be left out, the first such key is named", () => {
    expect(readStrict(search, "refused")).toEqual({
      ok: false,
      path: "/properties/limit",
      why: "may be left out",
    });
  });

  test("a nullable key is strict as it is", () => {
    const schema = schemaOf(z.strictObject({ note: z.string().nullable() }));
    expect(readStrict(schema, "refused")).toMatchObject({ ok: true });
  });

  test("eleven levels are too deep", () => {
    let schema: z.ZodType = z.string();
    for (let i = 0; i < 11; i += 1) schema = z.strictObject({ a: schema });
    expect(readStrict(schemaOf(schema), "refused")).toMatchObject({
      ok: false,
      why: "is deeper than 10 levels",
    });
  });

  test("a schema that refers to itself has none", () => {
    const input: JsonObject = { type: "object", properties: { a: { $ref: "#" } } };
    expect(strictOf(input)).toBeNull();
  });
});

describe("wireTool", () => {
  const offer = { name: "search", description: "", input: search };

  test("a working tool takes a reason and an expectation beside its arguments", () => {
    const input = schemaOf(z.strictObject({ q: z.string(), note: z.string().nullable() }));
    const { parameters, strict } = wireTool({ ...offer, input, isTerminal: false });
    expect(strict).toBe(true);
    expect(parameters["required"]).toEqual(["q", "note", "_reason", "_expected"]);
    expect(parameters).toMatchObject({
      properties: { _expected: { required: ["about", "fields", "closes"] } },
    });
  });

  test("a working tool with keys that may be left out goes as it is: null is a value there", () => {
    const { parameters, strict } = wireTool({ ...offer, isTerminal: false });
    expect(strict).toBe(false);
    expect(parameters["required"]).toEqual(["q", "note", "_reason", "_expected"]);
    expect(parameters).toMatchObject({ properties: { limit: { type: "integer" } } });
  });

  test("a terminal takes its own arguments only", () => {
    const { parameters } = wireTool({ ...offer, isTerminal: true });
    expect(parameters).toEqual(strictOf(search));
  });

  test("an open schema goes as it is, without strict", () => {
    const input: JsonObject = { type: "object", additionalProperties: true, properties: {} };
    const { parameters, strict } = wireTool({ ...offer, input, isTerminal: false });
    expect(strict).toBe(false);
    expect(parameters).toMatchObject({
      additionalProperties: true,
      required: ["_reason", "_expected"],
    });
  });
});

describe("withoutNulls", () => {
  test("a null of a key that is optional is no value; of one that may be null it is", () => {
    const given = { q: "a", limit: null, tags: [{ name: "x", weight: null }], note: null };
    expect(withoutNulls(given, search)).toEqual({ q: "a", tags: [{ name: "x" }], note: null });
  });

  test("a null of a required key stays, for the validation to refuse", () => {
    expect(withoutNulls({ q: null }, search)).toEqual({ q: null });
  });
});

describe("expectationOf", () => {
  test("what a strict server must say as null is left out", () => {
    const wire: Json = {
      about: { orderId: "A-1", page: null },
      fields: [
        { pointer: "/a", check: "exists", value: null, values: null },
        { pointer: "/b", check: "equals", value: null, values: null },
        { pointer: "/c", check: "in", value: null, values: ["x"] },
      ],
      closes: null,
    };
    expect(expectationOf(wire)).toEqual({
      about: { orderId: "A-1" },
      fields: [
        { pointer: "/a", check: "exists" },
        { pointer: "/b", check: "equals", value: null },
        { pointer: "/c", check: "in", values: ["x"] },
      ],
    });
  });

  test.each([
    [undefined, null],
    [null, null],
    ["to know more", "to know more"],
    [{ about: {} }, {}],
  ])("%j is %j", (wire: Json | undefined, core) => {
    expect(expectationOf(wire)).toEqual(core);
  });
});

describe("arguments on the wire", () => {
  const own = {
    _reason: 'why, "so" {',
    _expected: { fields: [{ pointer: "/a", check: "exists" }] },
  };

  test.each([
    ['{"orderId":"A-1"}'],
    ["{}"],
    [' { "id" : 12345678901234567890 } '],
    ['{"a":1.0,"b":[{"c":"},{"}],"d":"\\"_reason\\":1"}'],
    ['{"orderId": A1}'],
  ])("%s comes back byte for byte, with reason and expectation apart", (text) => {
    const written = writeWireArguments(text, own);
    expect(readWireArguments(written, undefined)).toEqual({
      text,
      reason: own._reason,
      expected: own._expected,
    });
  });

  test("our keys may stand anywhere among the others", () => {
    const text = '{"_reason":"r","a":1,"_expected":{"fields":[]},"b":2}';
    expect(readWireArguments(text, undefined)).toEqual({
      text: '{"a":1,"b":2}',
      reason: "r",
      expected: { fields: [] },
    });
  });

  test.each([[""], ["[]"], ["null"], ["{"], ["not json"], ['{"a":']])(
    "%j stays as it is",
    (text) => {
      expect(readWireArguments(text, undefined)).toEqual({ text, reason: "", expected: null });
    },
  );

  test("nulls of a strict server are taken off, unless a long number would be rounded", () => {
    const text = '{"q":"a","limit":null,"note":null}';
    expect(readWireArguments(text, search).text).toBe('{"q":"a","note":null}');
    const long = '{"q":12345678901234567890,"limit":null}';
    expect(readWireArguments(long, search).text).toBe(long);
  });
});
