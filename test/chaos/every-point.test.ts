/**
 * The promise of the project, on real Redis and real worker processes: SIGKILL at each crash point
 * of each step changes nothing that a user can see, however the model is asked. Every scenario, and
 * every so many-th case file: all of them take an hour (`pawl case run --crash every-point`).
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Limits } from "../../src/core/run-state.ts";
import { caseFiles, openCaseBench } from "../support/case-files.ts";

/** One in so many of the case files, evenly over the folders. */
const ONE_IN = 30;

const bench = openCaseBench();
const files = caseFiles().filter(
  (file, i) => (file.includes("/scenarios/") || i % ONE_IN === 0) && !isTight(file),
);

/**
 * A crash keeps its reservation as spent, so a run with an exact budget rightly ends earlier; and a
 * repeated read uses up an answer that is scripted for so many times.
 */
function isTight(file: string): boolean {
  const text = readFileSync(file, "utf8");
  const { limits } = JSON.parse(text) as { limits?: Partial<Limits> };
  const hasBudget = typeof limits?.tokens === "number" || typeof limits?.moneyMicroUsd === "number";
  return hasBudget || text.includes('"times"');
}

const PROVIDERS = ["scripted", "chat", "responses"] as const;
const asked = files.map(
  (file, i) => [file, PROVIDERS[i % PROVIDERS.length] ?? "scripted"] as const,
);

test.each(asked)("%s by %s ends the same with a worker killed at every point", async (file, by) => {
  const [result] = await bench.run([file], { crashEveryPoint: true, provider: by });
  expect(result?.failures).toEqual([]);
  expect(result?.ok).toBe(true);
});
