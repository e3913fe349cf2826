import fc from "fast-check";
import { expect, test } from "vitest";
import { readArguments } from "../../src/core/arguments.ts";
import { callKey, canonicalJson } from "../../src/core/call-key.ts";
import { isJsonObject, jsonEqual, readJson, type Json } from "../../src/core/json.ts";
import { resolvePointer } from "../../src/core/pointer.ts";
import { failureOf } from "../support/failure-of.ts";

/** JSON whose texts have a canonical form, without the one name that is refused. */
const json: fc.Arbitrary<Json> = fc
  .jsonValue({ stringUnit: "grapheme" })
  .filter((value) => !JSON.stringify(value).includes("__proto__")) as fc.Arbitrary<Json>;
const object = fc
  .dictionary(fc.string({ unit: "grapheme" }), json)
  .filter((value) => !Object.hasOwn(value, "__proto__"));

/** The same value with the keys of every object in another order. */
function shuffled(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => shuffled(item));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, Json] => [
    key,
    shuffled(inner),
  ]);
  return Object.fromEntries(entries.toReversed());
}

test("a call's key does not depend on the order of keys", () => {
  const property = fc.property(object, (args) => {
    return callKey("t", args, null) === callKey("t", shuffled(args) as typeof args, null);
  });
  expect(failureOf(property)).toBeUndefined();
});

test("two calls have one key exactly when their arguments are equal", () => {
  const property = fc.property(object, object, (a, b) => {
    return jsonEqual(a, b) === (callKey("t", a, null) === callKey("t", b, null));
  });
  expect(failureOf(property)).toBeUndefined();
});

test("what is read is equal to what was given, and the canonical text says the same", () => {
  const property = fc.property(json, (value) => {
    const reading = readJson(value);
    return (
      reading.ok &&
      jsonEqual(reading.value, value) &&
      jsonEqual(JSON.parse(canonicalJson(value)) as Json, value)
    );
  });
  expect(failureOf(property)).toBeUndefined();
});

test("whatever is given is read as JSON that survives a round trip, or is refused", () => {
  const property = fc.property(
    fc.anything({ withBigInt: true, withDate: true, withMap: true }),
    (value) => {
      const reading = readJson(value);
      if (!reading.ok) return reading.kind.length > 0;
      return jsonEqual(JSON.parse(JSON.stringify(reading.value)) as Json, reading.value);
    },
  );
  expect(failureOf(property)).toBeUndefined();
});

test("equality is reflexive, symmetric and blind to the order of keys", () => {
  const property = fc.property(json, json, (a, b) => {
    return jsonEqual(a, shuffled(a)) && jsonEqual(a, b) === jsonEqual(b, a);
  });
  expect(failureOf(property)).toBeUndefined();
});

test("a pointer made from a path of own keys finds the value, and nothing throws", () => {
  const property = fc.property(object, fc.string(), (document, text) => {
    resolvePointer(document, text);
    return Object.entries(document).every(([key, value]) => {
      const pointer = `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      const seen = resolvePointer(document, pointer);
      return seen.found && jsonEqual(seen.value, value);
    });
  });
  expect(failureOf(property)).toBeUndefined();
});

test("any text of arguments is read or refused, never thrown", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    object.map((value) => JSON.stringify(value)),
  );
  const property = fc.property(text, (raw) => {
    const reading = readArguments({ text: raw });
    return !reading.ok || canonicalJson(reading.args).length > 0;
  });
  expect(failureOf(property)).toBeUndefined();
});

test("the arguments of a text are those of its JSON", () => {
  const property = fc.property(object, (args) => {
    const [fromText, fromJson] = [
      readArguments({ text: JSON.stringify(args) }),
      readArguments({ json: args }),
    ];
    // A number that loses its digits on the wire is refused there, and only there.
    return !fromText.ok || (fromJson.ok && jsonEqual(fromText.args, fromJson.args));
  });
  expect(failureOf(property)).toBeUndefined();
});
