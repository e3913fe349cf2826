import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, messageOf, PawlError, unreachable } from "../../src/core/errors.ts";

const TABLE = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const ROW = /^\| `(PAWL_\w+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|$/gm;

describe("docs/errors.md", () => {
  const rows = [...TABLE.matchAll(ROW)];

  test("holds each code once, with its disposition", () => {
    expect(Object.fromEntries(rows.map(([, code, disposition]) => [code, disposition]))).toEqual(
      ERROR_CODES,
    );
    expect(rows).toHaveLength(Object.keys(ERROR_CODES).length);
  });

  test("says what each means and what to do", () => {
    const silent = rows.filter(([, , , meaning = "", todo = ""]) =>
      [meaning, todo].some((text) => text.trim().length < 10),
    );
    expect(silent.map(([, code]) => code)).toEqual([]);
  });
});

describe("PawlError", () => {
  test("carries the disposition of its code, the path and the cause", () => {
    const cause = new Error("below");
    const error = new PawlError("PAWL_STATE_UNREADABLE", "what", { path: "/v", cause });
    expect(error).toMatchObject({
      name: "PawlError",
      code: "PAWL_STATE_UNREADABLE",
      disposition: "park",
      path: "/v",
      cause,
      message: "what",
    });
    expect(new PawlError("PAWL_USAGE", "what")).not.toHaveProperty("cause");
  });

  test.each(Object.keys(ERROR_CODES))("%s is named by area and fault", (code) => {
    expect(code).toMatch(/^PAWL_[A-Z]+(_[A-Z]+)*$/);
  });
});

describe("messageOf", () => {
  test("a text is given for whatever was thrown", () => {
    const untellable = {
      toString(): never {
        throw new Error("no");
      },
    };
    expect(messageOf(new Error("x"))).toBe("x");
    expect(messageOf("x")).toBe("x");
    expect(messageOf(undefined)).toBe("undefined");
    expect(messageOf(Symbol("s"))).toBe("Symbol(s)");
    expect(messageOf(untellable)).toBe("a value that cannot be shown");
    expect(messageOf(Object.assign(new Error("x"), { message: { a: 1 } }))).toBe("[object Object]");
  });

  test("a long text is cut and says so", () => {
    expect(messageOf("x".repeat(500), 10)).toBe(`${"x".repeat(10)}… (cut)`);
    expect(messageOf("x".repeat(10), 10)).toBe("x".repeat(10));
  });
});

test("what cannot happen is told with its value", () => {
  expect(() => unreachable("odd" as never, "ruling")).toThrow('unreachable ruling: "odd"');
});
