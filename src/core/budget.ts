/**
 * Four limits, each with its own reason: steps, running time, tokens, money. What a model call may
 * cost at worst is reserved before it leaves, so spend never passes a limit, crash or not.
 */
import type { Usage } from "./decision.ts";
import type { Amount, RunState } from "./run-state.ts";
import { firstStop, isTerminal, stop, type Stop } from "./stop.ts";

/** Integer micro-USD per million tokens; null price: a model that costs nothing. */
export interface Price {
  readonly inputMicroUsdPerMTok: number;
  readonly cachedMicroUsdPerMTok: number;
  readonly cacheWriteMicroUsdPerMTok: number;
  readonly outputMicroUsdPerMTok: number;
}

/** Output tokens asked for by default, and the least that still lets a model finish a decision. */
export const OUTPUT_CAP_TOKENS = 1_000;
export const MIN_OUTPUT_TOKENS = 64;

/** ms of running time: parked time has its own timeouts and does not count. */
export function runningMs(state: RunState, now: number): number {
  if (state.status === "queued") return 0;
  const parkedNow = state.waiting === null ? 0 : now - state.waiting.since;
  return Math.max(0, now - state.clock.startedAt - state.clock.parkedMs - parkedNow);
}

/** ms until the time limit; null: unlimited. */
export function msLeft(state: RunState, now: number): number | null {
  return state.limits.timeMs === null ? null : state.limits.timeMs - runningMs(state, now);
}

/**
 * The moment (ms since epoch) at which the run's time is over; null: unlimited, or parked. A run
 * that no worker has begun has all its time left: for it this is the earliest such moment.
 */
export function deadlineOf(state: RunState): number | null {
  const { limits, clock, status, waiting } = state;
  if (limits.timeMs === null || waiting !== null || isTerminal(status)) return null;
  return clock.startedAt + clock.parkedMs + limits.timeMs;
}

/** The step in hand is the last one that may take a decision: only terminals are offered. */
export function isLastStep(state: RunState): boolean {
  const taken = state.spent.steps + (state.turn === null ? 1 : 0);
  return state.limits.steps !== null && taken >= state.limits.steps;
}

/** The limit that forbids to go on, or null. Money and tokens count as reached only once spent. */
export function exhausted(state: RunState, now: number): Stop | null {
  const { limits, spent } = state;
  return firstStop([
    reached(spent.moneyMicroUsd, limits.moneyMicroUsd)
      ? stop(
          "budget_exhausted",
          "money_exceeded",
          over("micro-USD", spent.moneyMicroUsd, limits.moneyMicroUsd),
        )
      : null,
    reached(spent.tokens, limits.tokens)
      ? stop("budget_exhausted", "tokens_exceeded", over("tokens", spent.tokens, limits.tokens))
      : null,
    limits.timeMs !== null && runningMs(state, now) >= limits.timeMs ? timeExceeded(state) : null,
    limits.steps !== null && spent.steps >= limits.steps
      ? stop("budget_exhausted", "max_steps_exceeded", over("steps", spent.steps, limits.steps))
      : null,
  ]);
}

export function timeExceeded(state: RunState): Stop {
  const detail = `running time reached the limit of ${state.limits.timeMs} ms`;
  return stop("budget_exhausted", "time_exceeded", detail);
}

function reached(spent: number, limit: number | null): boolean {
  return limit !== null && spent >= limit && (spent > 0 || limit < 0);
}

function over(unit: string, spent: number, limit: number | null): string {
  return `${spent} ${unit} used of ${limit}`;
}

export type Reservation =
  | { readonly ok: true; readonly amount: Amount; readonly outputCap: number }
  | { readonly ok: false; readonly stop: Stop };

/**
 * Takes the counted input of the next call and the model's price; returns what to reserve and the
 * output cap, lowered to what is left, or the stop when not even the least useful output fits.
 */
export function reserve(state: RunState, inputTokens: number, price: Price | null): Reservation {
  const { limits, spent } = state;
  const lost = state.reserved ?? { tokens: 0, moneyMicroUsd: 0 };
  const tokensLeft = limits.tokens === null ? null : limits.tokens - spent.tokens - lost.tokens;
  const moneyLeft =
    limits.moneyMicroUsd === null
      ? null
      : limits.moneyMicroUsd - spent.moneyMicroUsd - lost.moneyMicroUsd;
  const byMoney =
    moneyLeft === null || price === null ? null : outputFor(moneyLeft, inputTokens, price);
  const byTokens = tokensLeft === null ? null : tokensLeft - inputTokens;
  if (byMoney !== null && byMoney < MIN_OUTPUT_TOKENS) {
    const detail = `${moneyLeft} micro-USD left do not pay for ${inputTokens} input tokens`;
    return { ok: false, stop: stop("budget_exhausted", "money_exceeded", detail) };
  }
  if (byTokens !== null && byTokens < MIN_OUTPUT_TOKENS) {
    const detail = `${tokensLeft} tokens left do not hold ${inputTokens} input tokens`;
    return { ok: false, stop: stop("budget_exhausted", "tokens_exceeded", detail) };
  }
  const outputCap = Math.min(OUTPUT_CAP_TOKENS, byMoney ?? Infinity, byTokens ?? Infinity);
  // Who knows which tokens the server will write to its cache: at worst all, where that is dearer.
  const isWriteDearer =
    price !== null && price.cacheWriteMicroUsdPerMTok > price.inputMicroUsdPerMTok;
  const cacheWrite = isWriteDearer ? inputTokens : 0;
  const worst: Usage = {
    input: inputTokens,
    cached: 0,
    cacheWrite,
    output: outputCap,
    reasoning: 0,
  };
  return {
    ok: true,
    outputCap,
    amount: { tokens: inputTokens + outputCap, moneyMicroUsd: costOf(worst, price) },
  };
}

function outputFor(moneyLeft: number, inputTokens: number, price: Price): number {
  const dearest = Math.max(price.inputMicroUsdPerMTok, price.cacheWriteMicroUsdPerMTok);
  const rest = moneyLeft * 1_000_000 - inputTokens * dearest;
  if (price.outputMicroUsdPerMTok === 0) return rest >= 0 ? OUTPUT_CAP_TOKENS : 0;
  return Math.floor(rest / price.outputMicroUsdPerMTok);
}

/** Integer micro-USD of one call, rounded up once; each token is counted once, at its own price. */
export function costOf(usage: Usage, price: Price | null): number {
  if (price === null) return 0;
  const plain = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  const micro =
    plain * price.inputMicroUsdPerMTok +
    usage.cached * price.cachedMicroUsdPerMTok +
    usage.cacheWrite * price.cacheWriteMicroUsdPerMTok +
    usage.output * price.outputMicroUsdPerMTok;
  return Math.ceil(micro / 1_000_000);
}
