/**
 * How a run can stand and how it can end. One closed table: a status with a reason outside its list
 * does not exist, and a terminal status is final.
 *
 *   queued → running ⇄ waiting → completed | stalled | budget_exhausted | denied | handoff
 *                                | blocked | cancelled | failed
 */

export const REASONS = {
  completed: ["answered", "effect_confirmed"],
  stalled: ["repeated_call", "no_progress"],
  budget_exhausted: ["max_steps_exceeded", "time_exceeded", "tokens_exceeded", "money_exceeded"],
  denied: ["policy_denied", "approval_rejected"],
  handoff: [
    "requested",
    "contradiction",
    "missing_data",
    "required_tool_unavailable",
    "approval_expired",
    "user_silent",
    "claims_unsupported",
    "postcondition_unmet",
    "model_refused",
    "human_took_over",
    "effect_unknown",
  ],
  blocked: [
    "terminal_tool_missing",
    "ambiguous_terminal_calls",
    "invalid_decision",
    "truncated_reply",
    "provider_unavailable",
  ],
  cancelled: ["by_operator", "superseded"],
  failed: ["internal_error", "unreadable_state", "crash_loop"],
} as const;

export type TerminalStatus = keyof typeof REASONS;
export type Reason = (typeof REASONS)[TerminalStatus][number];
export type LiveStatus = "queued" | "running" | "waiting";
export type Status = LiveStatus | TerminalStatus;

export const TERMINAL_STATUSES = Object.keys(REASONS) as readonly TerminalStatus[];
export const STATUSES: readonly Status[] = ["queued", "running", "waiting", ...TERMINAL_STATUSES];
export const ALL_REASONS: readonly Reason[] = Object.values(REASONS).flat();

/** Who may follow whom; `transition` is the only reader. */
const MOVES: Readonly<Record<LiveStatus, readonly Status[]>> = {
  queued: ["running", ...TERMINAL_STATUSES],
  running: ["waiting", ...TERMINAL_STATUSES],
  waiting: ["running", ...TERMINAL_STATUSES],
};

export function isTerminal(status: Status): status is TerminalStatus {
  return Object.hasOwn(REASONS, status);
}

/** The one function that changes a status; an illegal move is a bug and throws. */
export function transition(from: Status, to: Status): Status {
  if (from === to && !isTerminal(from)) return to;
  if (isTerminal(from) || !MOVES[from].includes(to)) {
    throw new Error(`illegal status change ${from} → ${to}`);
  }
  return to;
}

/** A stop: the status and reason a run ends with, and a sentence for the person who reads it. */
export interface Stop {
  readonly status: TerminalStatus;
  readonly reason: Reason;
  readonly detail: string;
}

export function stop(status: TerminalStatus, reason: Reason, detail: string): Stop {
  if (!(REASONS[status] as readonly string[]).includes(reason)) {
    throw new Error(`reason ${reason} does not belong to status ${status}`);
  }
  return { status, reason, detail };
}

/** When several stops fire at the same moment the first in this order wins. */
const PRECEDENCE: readonly string[] = [
  "cancelled",
  "denied",
  "stalled",
  "money_exceeded",
  "tokens_exceeded",
  "time_exceeded",
  "max_steps_exceeded",
  "handoff",
  "blocked",
  "failed",
  "completed",
];

export function firstStop(stops: readonly (Stop | null)[]): Stop | null {
  const rank = (s: Stop): number =>
    PRECEDENCE.indexOf(s.status === "budget_exhausted" ? s.reason : s.status);
  return stops.reduce<Stop | null>(
    (best, s) => (s !== null && (best === null || rank(s) < rank(best)) ? s : best),
    null,
  );
}
