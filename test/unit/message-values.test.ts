import { describe, expect, test } from "vitest";
import { statusWordsIn, valuesIn } from "../../src/core/message-values.ts";

describe("valuesIn", () => {
  test.each([
    ["You get $49.90.", "49.90", 49.9, true],
    ["EUR1,299.00 in all", "EUR1,299.00", 1_299, true],
    ["49.90EUR", "49.90EUR", 49.9, true],
    ["49.90 euros", "49.90", 49.9, true],
    ["(20%)", "20", 20, false],
    ["1,234,567", "1,234,567", 1_234_567, false],
    ["order A-1842!", "A-1842", null, false],
    ["1,2,3", "1,2,3", null, false],
    ["1.2.3", "1.2.3", null, false],
    ["x2", "x2", null, false],
    ["４９", "４９", null, false],
  ])("%s holds %s", (text, value, number, isMoney) => {
    expect(valuesIn(text)).toEqual([{ text: value, number, isMoney, date: null, moment: null }]);
  });

  test.each([
    "2026-03-05",
    "2026-03-05T10:00:00Z",
    "5 March 2026",
    "5th of March, 2026",
    "05 Mar. 2026",
    "March 5, 2026",
    "Mar 5th 2026",
  ])("%s is one date", (text) => {
    expect(valuesIn(`It left on ${text}.`)).toMatchObject([{ date: "2026-03-05" }]);
  });

  test.each(["", "no digits here", "?!", "— ·"])("%j holds none", (text) => {
    expect(valuesIn(text)).toEqual([]);
  });

  test("the punctuation around a value is no part of it", () => {
    expect(valuesIn('"A-1", (A-2); A-3...').map((v) => v.text)).toEqual(["A-1", "A-2", "A-3"]);
  });

  test.each([
    ["a run of joiners", `1${".".repeat(100_000)}`],
    ["a run of spaces after a day", `1${" ".repeat(100_000)}`],
    ["many days without a month", "1 of ".repeat(20_000)],
  ])("%s is read in linear time", (_name, text) => {
    const startedAt = performance.now();
    valuesIn(text);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

describe("statusWordsIn", () => {
  const vocabulary = new Set(["paid", "in_transit"]);

  test.each([
    ["It was PAID, thanks", ["paid"]],
    ["it is in transit", ["in_transit"]],
    ["status: in_transit", ["in_transit"]],
    ["unpaid, prepaid", []],
    ["", []],
  ])("%s", (text, words) => {
    expect(statusWordsIn(text, vocabulary)).toEqual(words);
  });
});
