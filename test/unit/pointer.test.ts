import { describe, expect, test } from "vitest";
import { isPointer, resolvePointer } from "../../src/core/pointer.ts";

const document = {
  foo: ["bar", "baz"],
  "": 0,
  "a/b": 1,
  "c%d": 2,
  "m~n": 8,
  none: null,
  zero: 0,
};

describe("resolvePointer", () => {
  // The examples of RFC 6901, section 5.
  test.each([
    ["", document],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/m~0n", 8],
    ["/none", null],
    ["/zero", 0],
  ])("%j is found", (pointer, value) => {
    expect(resolvePointer(document, pointer)).toEqual({ found: true, value });
  });

  test.each([
    "foo",
    "/foo/2",
    "/foo/-",
    "/foo/00",
    "/foo/1e0",
    "/foo/-1",
    "/foo/length",
    "/none/x",
    "/zero/x",
    "/m~n",
    "/m~2n",
    "/constructor",
    "/__proto__",
    "/toString",
    "/foo/0/0",
  ])("%j is not found", (pointer) => {
    expect(resolvePointer(document, pointer)).toEqual({ found: false });
  });

  test("~01 is a tilde and a one, not a slash", () => {
    expect(resolvePointer({ "~1": true }, "/~01")).toEqual({ found: true, value: true });
  });
});

test("the syntax is checked without a document", () => {
  expect(["", "/", "/a/b", "/~0~1"].every(isPointer)).toBe(true);
  expect(["a", "a/b", "/~", "/~2", "#/a"].some(isPointer)).toBe(false);
});
