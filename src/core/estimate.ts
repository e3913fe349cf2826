/**
 * What runs of an agent would cost on a model, from runs that were measured: steps × context ×
 * price, the worst that the limits allow, and how sure that is. Cached input is priced as plain
 * input, since nobody knows beforehand what a server will have cached.
 */
import { OUTPUT_CAP_TOKENS } from "./budget.ts";
import type { MeasuredCall } from "./measure.ts";
import { costOf, worstCost, type Price } from "./price.ts";
import type { Limits } from "./run-state.ts";

export interface Spread {
  readonly mean: number;
  readonly p95: number;
  readonly most: number;
}

export interface Estimate {
  readonly runs: number;
  readonly callsPerRun: Spread;
  readonly inputPerCall: Spread;
  readonly outputPerCall: Spread;
  /** Integer micro-USD. */
  readonly costPerRun: Spread;
  /** 95 % range of the mean cost of a run, micro-USD; null with fewer than two runs. */
  readonly meanRange: { readonly low: number; readonly high: number } | null;
  readonly worst: Worst;
  readonly sure: "low" | "fair" | "good";
}

export interface Worst {
  /** Of one run, micro-USD; null: nothing bounds it. */
  readonly microUsd: number | null;
  /** What bounds it: the run's money limit, its token limit, its steps, or nothing. */
  readonly by: "money" | "tokens" | "steps" | null;
  readonly calls: number | null;
  /** Attempts of each call that may be paid. */
  readonly attempts: number | null;
  readonly inputPerCall: number;
  readonly outputPerCall: number;
}

/** From so many runs on. */
const FAIR_RUNS = 30;
const GOOD_RUNS = 300;
/** Of a normal distribution, two-sided. */
const Z95 = 1.96;

/** Takes the calls of each run; at least one run with at least one call. */
export function estimateCost(
  runs: readonly (readonly MeasuredCall[])[],
  price: Price,
  limits: Limits,
): Estimate {
  const calls = runs.flat();
  const costs = runs.map((run) =>
    run.reduce((sum, { input, output }) => sum + costOf(plainUsage(input, output), price), 0),
  );
  const inputPerCall = spreadOf(calls.map((call) => call.input));
  return {
    runs: runs.length,
    callsPerRun: spreadOf(runs.map((run) => run.length)),
    inputPerCall,
    outputPerCall: spreadOf(calls.map((call) => call.output)),
    costPerRun: spreadOf(costs),
    meanRange: rangeOf(costs),
    worst: worstOf(inputPerCall.most, price, limits),
    sure: runs.length >= GOOD_RUNS ? "good" : runs.length >= FAIR_RUNS ? "fair" : "low",
  };
}

function plainUsage(input: number, output: number) {
  return { input, cached: 0, cacheWrite: 0, output, reasoning: 0 };
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const mean = sum(sorted) / Math.max(1, sorted.length);
  const p95 = sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 1)] ?? 0;
  return { mean, p95, most: sorted.at(-1) ?? 0 };
}

function rangeOf(values: readonly number[]): Estimate["meanRange"] {
  if (values.length < 2) return null;
  const mean = sum(values) / values.length;
  const variance = sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1);
  const half = Z95 * Math.sqrt(variance / values.length);
  return { low: Math.max(0, Math.floor(mean - half)), high: Math.ceil(mean + half) };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** Every step asks, every attempt is paid, every context is the largest, every output is full. */
function worstOf(inputPerCall: number, price: Price, limits: Limits): Worst {
  const { steps: calls, providerRetries, tokens, moneyMicroUsd } = limits;
  const attempts = providerRetries === null ? null : providerRetries + 1;
  const outputPerCall = OUTPUT_CAP_TOKENS;
  const one = worstCost(inputPerCall, outputPerCall, price);
  const bounds: [Exclude<Worst["by"], null>, number | null][] = [
    ["money", moneyMicroUsd],
    ["tokens", tokens === null ? null : dearestOf(tokens, price)],
    ["steps", calls === null || attempts === null ? null : calls * attempts * one],
  ];
  let least: Pick<Worst, "microUsd" | "by"> = { microUsd: null, by: null };
  for (const [by, microUsd] of bounds) {
    if (microUsd === null || (least.microUsd !== null && least.microUsd <= microUsd)) continue;
    least = { microUsd, by };
  }
  return { ...least, calls, attempts, inputPerCall, outputPerCall };
}

/** So many tokens, each at the dearest rate that there is. */
function dearestOf(tokens: number, price: Price): number {
  return Math.max(worstCost(tokens, 0, price), worstCost(0, tokens, price));
}
