/**
 * What a run with a crash may not show otherwise than the uninterrupted one, and the two ways in
 * which it rightly does less: the crash itself cost something and the budget holds, or a step that
 * came again heard at its start what the uninterrupted one heard in its middle.
 */
import { jsonEqual } from "../core/json.ts";
import { summaryOf, type Failure, type Seen, type Summary } from "./case-result.ts";
import type { Case } from "./case.ts";
import type { CrashPointName } from "./happenings.ts";

export interface Crash {
  readonly step: number;
  readonly point: CrashPointName;
}

/** One failure for each part of the summary that differs; none where the budget explains it. */
export function crashDifference(
  { events }: Pick<Case, "events">,
  [uninterrupted, crashed]: readonly [Seen, Seen],
  crash: Crash,
): Failure[] {
  const want = summaryOf(uninterrupted);
  const got = summaryOf(crashed);
  const different = (Object.keys(want) as (keyof Summary)[]).filter(
    (key) => !jsonEqual(want[key], got[key]),
  );
  const isSameEnd = want.status === got.status && want.reason === got.reason;
  const isExplained = isOutOfBudget(crashed) || (isSameEnd && isHeardEarlier(events, crash));
  if (different.length > 0 && isExplained && isCutShort(want, got)) return [];
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

/** What happens in the middle of a step waits in the inbox when that step comes again. */
function isHeardEarlier(events: Case["events"], { step }: Crash): boolean {
  return events.some(
    ({ at, kill, freezeMs, tamper }) =>
      at?.step === step &&
      at.point !== "after_save" &&
      at.point !== "after_enqueue" &&
      (kill ?? freezeMs ?? tamper) === undefined,
  );
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
