/**
 * Four limits, each with its own reason: steps, running time, tokens, money. What a model call may
 * cost at worst is reserved before it leaves, so spend never passes a limit, crash or not.
 */
import { outputFor, worstCost, type Price } from "./price.ts";
import { NOTHING, type Amount, type RunState } from "./run-state.ts";
import { firstStop, isTerminal, stop, type Stop } from "./stop.ts";

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

/** What the tenant has left today, apart from the run's own limits; null is unlimited. */
export interface DayLeft {
  readonly tenant: string;
  readonly tokens: number | null;
  readonly moneyMicroUsd: number | null;
}

/**
 * Takes the counted input of the next call (an upper bound) and the model's price; returns what to
 * reserve and the output cap, lowered to what is left, or the stop when not even the least useful
 * output fits.
 */
export function reserve(
  state: RunState,
  inputTokens: number,
  price: Price | null,
  day: DayLeft | null = null,
): Reservation {
  const { limits, spent } = state;
  const lost = state.reserved ?? NOTHING;
  const own = {
    tokens: left(limits.tokens, spent.tokens + lost.tokens),
    moneyMicroUsd: left(limits.moneyMicroUsd, spent.moneyMicroUsd + lost.moneyMicroUsd),
  };
  let outputCap = OUTPUT_CAP_TOKENS;
  for (const [of, has] of [["", own] as const, [dayOf(day), day] as const]) {
    if (has === null) continue;
    const { tokens, moneyMicroUsd: money } = has;
    const byMoney = money === null || price === null ? null : outputFor(money, inputTokens, price);
    if (byMoney !== null && byMoney < MIN_OUTPUT_TOKENS) {
      const detail = `${money} micro-USD left${of} do not pay for ${inputTokens} input tokens`;
      return { ok: false, stop: stop("budget_exhausted", "money_exceeded", detail) };
    }
    const byTokens = tokens === null ? null : tokens - inputTokens;
    if (byTokens !== null && byTokens < MIN_OUTPUT_TOKENS) {
      const detail = `${tokens} tokens left${of} do not hold ${inputTokens} input tokens`;
      return { ok: false, stop: stop("budget_exhausted", "tokens_exceeded", detail) };
    }
    outputCap = Math.min(outputCap, byMoney ?? Infinity, byTokens ?? Infinity);
  }
  const moneyMicroUsd = worstCost(inputTokens, outputCap, price);
  return { ok: true, outputCap, amount: { tokens: inputTokens + outputCap, moneyMicroUsd } };
}

function left(limit: number | null, used: number): number | null {
  return limit === null ? null : limit - used;
}

function dayOf(day: DayLeft | null): string {
  return day === null ? "" : ` of the day of tenant ${day.tenant}`;
}
