import { describe, expect, test } from "vitest";
import { callKey, canonicalJson, digest, idempotencyKey } from "../../src/core/call-key.ts";

describe("callKey", () => {
  test("key order does not count, at any depth", () => {
    const a = callKey("t", { f: { x: 1, y: 2 }, g: 1 }, null);
    expect(callKey("t", { g: 1, f: { y: 2, x: 1 } }, null)).toBe(a);
  });

  test("the order of a list counts", () => {
    expect(callKey("t", { l: [1, 2] }, null)).not.toBe(callKey("t", { l: [2, 1] }, null));
  });

  test("the whole of a long argument counts", () => {
    const long = "x".repeat(5_000);
    expect(callKey("t", { body: `${long}a` }, null)).not.toBe(
      callKey("t", { body: `${long}b` }, null),
    );
  });

  test("only identity fields count where a tool names them", () => {
    const identity = ["orderId"];
    const a = callKey("t", { orderId: "A-1", traceId: "r1" }, identity);
    expect(callKey("t", { orderId: "A-1", traceId: "r2" }, identity)).toBe(a);
    expect(callKey("t", { orderId: "A-2", traceId: "r1" }, identity)).not.toBe(a);
  });

  test("a name of Object.prototype is no identity field by itself", () => {
    expect(callKey("t", {}, ["toString"])).toBe(callKey("t", {}, []));
  });

  test("two tools with equal arguments are two calls", () => {
    expect(callKey("a", {}, null)).not.toBe(callKey("b", {}, null));
  });

  test("null, an absent field and a text are three values", () => {
    const keys = [{ a: null }, {}, { a: "null" }].map((args) => callKey("t", args, null));
    expect(new Set(keys).size).toBe(3);
  });
});

test("the canonical text is that of RFC 8785", () => {
  const value = { "\u20ac": 1, "\r": 2, "1": 333333333.3333333, b: [1e30, 4.5, 2e-3, -0] };
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":333333333.3333333,"b":[1e+30,4.5,0.002,0],"€":1}',
  );
});

test("half of a surrogate pair has no canonical form", () => {
  expect(() => canonicalJson("\ud83c")).toThrow(/surrogate/i);
  expect(canonicalJson("\ud83c\udf78")).toBe('"🍸"');
});

test("the digest is SHA-256 of the UTF-8 bytes", () => {
  expect(digest("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("an effect's key is the same for the same call and another for another run", () => {
  const key = idempotencyKey("run-1", "t:abc");
  expect(idempotencyKey("run-1", "t:abc")).toBe(key);
  expect(idempotencyKey("run-2", "t:abc")).not.toBe(key);
  expect(idempotencyKey("run-1", "t:abd")).not.toBe(key);
  expect(key).toMatch(/^run-1\.[0-9a-f]{32}$/);
});
