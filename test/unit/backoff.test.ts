import { expect, test } from "vitest";
import { backoffMs } from "../../src/queue/backoff.ts";

test("the wait doubles from 250 ms, never above 30 s", () => {
  const longest = Array.from({ length: 12 }, (_, i) => backoffMs(i + 1, 1));
  expect(longest.slice(0, 4)).toEqual([250, 500, 1_000, 2_000]);
  expect(longest.slice(-3)).toEqual([30_000, 30_000, 30_000]);
});

test("jitter takes away at most a half", () => {
  expect(backoffMs(3, 0)).toBe(500);
  expect(backoffMs(3, 0.5)).toBe(750);
});

test("an attempt far beyond any count still gives a finite wait", () => {
  expect(backoffMs(5_000, 1)).toBe(30_000);
  expect(backoffMs(0, 1)).toBe(250);
});
