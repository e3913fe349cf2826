/**
 * A tenant's day: what its runs have spent and hold of the day's budget. Moved in the same atomic
 * write as the journal of the step that reserves or settles, so no crash moves it twice or never.
 */
import type { Amount } from "../core/run-state.ts";

/** Null is unlimited, 0 is zero; money is integer micro-USD. */
export interface DayLimits {
  readonly tokens: number | null;
  readonly moneyMicroUsd: number | null;
}

/** Which day of which tenant: `day` is the UTC date, as 2026-12-03. */
export interface AccountDay {
  readonly tenant: string;
  readonly day: string;
}

export type AccountMove = AccountDay &
  Amount &
  ({ readonly op: "reserve"; readonly most: DayLimits } | { readonly op: "settle" });

export interface TenantDay {
  readonly spent: Amount;
  /** Reserved by calls that are out, or lost in crashes: nobody knows what those cost. */
  readonly held: Amount;
}

export interface TenantAccounts {
  readonly read: (day: AccountDay) => Promise<TenantDay>;
}

/** The UTC date of a moment (ms since epoch). */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** For reports over a quarter; then a day is gone. */
export const ACCOUNT_KEPT_MS = 100 * 24 * 3_600_000;
