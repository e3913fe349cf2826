import { describe, expect, test } from "vitest";
import { escapePointer, jsonEqual, kindOf, readJson } from "../../src/core/json.ts";

describe("readJson", () => {
  test("every JSON value is read as it is", () => {
    const value = { a: [1, "x", true, null, { b: {} }], "": -0.5 };
    expect(readJson(value)).toEqual({ ok: true, value });
  });

  test.each([
    ["a bigint", { n: 10n }, "/n", "bigint"],
    ["a Date", { at: new Date(0) }, "/at", "Date"],
    ["a Map", { m: new Map() }, "/m", "Map"],
    ["a Set", [new Set()], "/0", "Set"],
    ["bytes", { b: new Uint8Array(1) }, "/b", "Uint8Array"],
    ["NaN", { n: Number.NaN }, "/n", "NaN"],
    ["an infinity", [Number.POSITIVE_INFINITY], "/0", "Infinity"],
    ["undefined", { u: undefined }, "/u", "undefined"],
    ["a function", { f: () => 1 }, "/f", "function"],
    ["a symbol", [Symbol("s")], "/0", "symbol"],
    ["a class instance", { e: new Error("x") }, "/e", "Error"],
    ["an object without a constructor", { o: Object.create(Object.create(null)) }, "/o", "object"],
  ])("%s is refused with its place", (_name, value, path, kind) => {
    expect(readJson(value)).toEqual({ ok: false, path, kind });
  });

  test("a hole in a list is refused", () => {
    const list: unknown[] = [];
    list[1] = 1;
    expect(readJson(list)).toMatchObject({ ok: false, path: "/0" });
  });

  test("a cycle is refused, and a value that stands twice is not one", () => {
    const shared = { x: 1 };
    expect(readJson([shared, shared])).toEqual({ ok: true, value: [{ x: 1 }, { x: 1 }] });
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(readJson(cycle)).toEqual({ ok: false, path: "/self", kind: "cycle" });
  });

  test("a nesting that would overflow the stack is refused", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    expect(readJson(deep)).toMatchObject({ ok: false, kind: "nesting deeper than 200" });
  });

  test("the place is a JSON pointer", () => {
    expect(readJson({ "a/b~c": [undefined] })).toMatchObject({ path: "/a~1b~0c/0" });
    expect(escapePointer("~/")).toBe("~0~1");
  });

  test("a value that throws when it is read is refused, not thrown", () => {
    const trap = {
      get x(): never {
        throw new Error("no");
      },
    };
    expect(readJson({ trap })).toMatchObject({ ok: false });
  });

  test("the copy is independent of what was read", () => {
    const given = { list: [1] };
    const reading = readJson(given);
    given.list.push(2);
    expect(reading).toEqual({ ok: true, value: { list: [1] } });
  });
});

describe("jsonEqual", () => {
  test.each([
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
    [[1, 2], [2, 1], false],
    [[1], { 0: 1 }, false],
    [{}, [], false],
    [0, -0, true],
    [1, "1", false],
    [null, {}, false],
    [undefined, null, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ toString: 1 }, { valueOf: 1 }, false],
  ])("%j and %j: %s", (a, b, equal) => {
    expect(jsonEqual(a, b)).toBe(equal);
    expect(jsonEqual(b, a)).toBe(equal);
  });
});

test("a kind is told without the value", () => {
  expect(kindOf(null)).toBe("null");
  expect(kindOf(["secret"])).toBe("a list of 1");
  expect(kindOf({ secret: 1 })).toBe("an object");
  expect(kindOf("secret")).toBe("a string");
});
