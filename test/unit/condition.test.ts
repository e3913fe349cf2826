import { describe, expect, test } from "vitest";
import {
  describeTest,
  factConditionSchema,
  passes,
  testSchema,
  valuesOf,
} from "../../src/core/condition.ts";

const seen = (value: unknown) => ({ found: true as const, value: value as never });
const MISSING = { found: false } as const;

describe("passes", () => {
  test.each([[[]], [0], [false], [""], [null], [{}]])("%j exists", (value) => {
    expect(passes({ exists: true }, seen(value))).toBe(true);
    expect(passes({ exists: false }, seen(value))).toBe(false);
  });

  test("what is missing passes only where it must be missing", () => {
    expect(passes({ exists: false }, MISSING)).toBe(true);
    expect(passes({ exists: true }, MISSING)).toBe(false);
    expect(passes({ equals: null }, MISSING)).toBe(false);
    expect(passes({ in: [null] }, MISSING)).toBe(false);
    expect(passes({ gte: 0 }, MISSING)).toBe(false);
  });

  test("equality is by value, without conversion", () => {
    expect(passes({ equals: { a: [1], b: 2 } }, seen({ b: 2, a: [1] }))).toBe(true);
    expect(passes({ equals: 1 }, seen("1"))).toBe(false);
    expect(passes({ in: ["a", { x: 1 }] }, seen({ x: 1 }))).toBe(true);
    expect(passes({ in: [] }, seen("a"))).toBe(false);
  });

  test("bounds hold at the bound and for numbers only", () => {
    expect(passes({ gte: 5 }, seen(5))).toBe(true);
    expect(passes({ gte: 5 }, seen(4))).toBe(false);
    expect(passes({ lte: 5 }, seen(5))).toBe(true);
    expect(passes({ lte: 5 }, seen(6))).toBe(false);
    expect(passes({ gte: 5 }, seen("9"))).toBe(false);
  });
});

test("a condition asks exactly one question", () => {
  expect(testSchema.safeParse({ exists: true, equals: 1 }).success).toBe(false);
  expect(testSchema.safeParse({}).success).toBe(false);
  expect(factConditionSchema.safeParse({ fact: "a", gte: 1, lte: 2 }).success).toBe(false);
  expect(factConditionSchema.safeParse({ fact: "a", in: [1] }).success).toBe(true);
});

test("a condition is told as a sentence, with the values that it names", () => {
  expect(describeTest({ equals: "paid" })).toBe('equals "paid"');
  expect(describeTest({ exists: false })).toBe("does not exist");
  expect(describeTest({ in: [1, 2] })).toBe("is one of [1,2]");
  expect(describeTest({ gte: 3 })).toBe("is at least 3");
  expect(describeTest({ lte: 3 })).toBe("is at most 3");
  expect(valuesOf({ in: ["a", "b"] })).toEqual(["a", "b"]);
  expect(valuesOf({ equals: "a" })).toEqual(["a"]);
  expect(valuesOf({ gte: 3 })).toEqual([]);
});
