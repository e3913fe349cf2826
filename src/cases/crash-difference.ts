/**
 * What a run with a crash may not show otherwise than the uninterrupted one, and the one way in
 * which it rightly ends elsewhere: the crash itself cost something, and the budget holds.
 */
import { jsonEqual } from "../core/json.ts";
import { summaryOf, type Failure, type Seen, type Summary } from "./case-result.ts";
import type { CrashPointName } from "./happenings.ts";

export interface Crash {
  readonly step: number;
  readonly point: CrashPointName;
}

/** One failure for each part of the summary that differs; none where the budget explains it. */
export function crashDifference(uninterrupted: Seen, crashed: Seen, crash: Crash): Failure[] {
  const want = summaryOf(uninterrupted);
  const got = summaryOf(crashed);
  const different = (Object.keys(want) as (keyof Summary)[]).filter(
    (key) => !jsonEqual(want[key], got[key]),
  );
  if (different.length > 0 && isOutOfBudget(crashed) && isCutShort(want, got)) return [];
  return different.map((key) => ({
    path: `/crash/${crash.step}/${crash.point}/${key}`,
    want: want[key],
    got: got[key],
  }));
}

/**
 * A reservation that a crash lost stays spent, and time runs on while nobody works (semantics.md
 * section 6): a run whose limit leaves no room for that ends by it, and has not gone over it.
 */
function isOutOfBudget({ state }: Seen): boolean {
  const { reason, limits, spent, paidButLost } = state;
  const isWithin = (used: number, limit: number | null): boolean => limit !== null && used <= limit;
  switch (reason) {
    case "tokens_exceeded":
      return paidButLost > 0 && isWithin(spent.tokens, limits.tokens);
    case "money_exceeded":
      return paidButLost > 0 && isWithin(spent.moneyMicroUsd, limits.moneyMicroUsd);
    case "time_exceeded":
      return limits.timeMs !== null;
    default:
      return false;
  }
}

/** Everything that it did, the uninterrupted run did too. */
function isCutShort(want: Summary, got: Summary): boolean {
  const isWithin = (
    some: Readonly<Record<string, number>>,
    all: Readonly<Record<string, number>>,
  ): boolean => Object.entries(some).every(([name, n]) => n <= (all[name] ?? 0));
  const sent = want.outward.slice(0, got.outward.length);
  return (
    got.steps <= want.steps &&
    isWithin(got.effects, want.effects) &&
    isWithin(got.effectKeys, want.effectKeys) &&
    jsonEqual(got.outward, sent) &&
    Object.entries(got.facts).every(([key]) => Object.hasOwn(want.facts, key))
  );
}
