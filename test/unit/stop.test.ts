import { describe, expect, test } from "vitest";
import {
  ALL_REASONS,
  firstStop,
  isTerminal,
  REASONS,
  STATUSES,
  stop,
  TERMINAL_STATUSES,
  transition,
  type Status,
  type Stop,
} from "../../src/core/stop.ts";

/** Written a second time, by hand: the table of semantics.md, section 2. */
const LEGAL: Readonly<Record<string, readonly Status[]>> = {
  queued: ["queued", "running", ...TERMINAL_STATUSES],
  running: ["running", "waiting", ...TERMINAL_STATUSES],
  waiting: ["waiting", "running", ...TERMINAL_STATUSES],
};

const MOVES = STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const));

describe("transition", () => {
  test.each(MOVES.filter(([from, to]) => LEGAL[from]?.includes(to)))("%s → %s is made", (a, b) => {
    expect(transition(a, b)).toBe(b);
  });

  test.each(MOVES.filter(([from, to]) => !LEGAL[from]?.includes(to)))("%s → %s throws", (a, b) => {
    expect(() => transition(a, b)).toThrow(`illegal status change ${a} → ${b}`);
  });
});

describe("reasons", () => {
  test("each belongs to exactly one status", () => {
    expect(new Set(ALL_REASONS).size).toBe(ALL_REASONS.length);
    for (const reason of ALL_REASONS) {
      const owners = TERMINAL_STATUSES.filter((s) =>
        (REASONS[s] as readonly string[]).includes(reason),
      );
      expect(owners).toHaveLength(1);
    }
  });

  test("a stop with a reason of another status throws", () => {
    for (const status of TERMINAL_STATUSES) {
      for (const reason of ALL_REASONS) {
        if ((REASONS[status] as readonly string[]).includes(reason)) continue;
        expect(() => stop(status, reason, "")).toThrow(`reason ${reason} does not belong`);
      }
    }
  });

  test("only the statuses with reasons are terminal", () => {
    expect(STATUSES.filter((s) => !isTerminal(s))).toEqual(["queued", "running", "waiting"]);
    expect(isTerminal("toString" as Status)).toBe(false);
  });
});

describe("firstStop", () => {
  const IN_ORDER: readonly Stop[] = [
    stop("cancelled", "by_operator", ""),
    stop("denied", "policy_denied", ""),
    stop("stalled", "repeated_call", ""),
    stop("budget_exhausted", "money_exceeded", ""),
    stop("budget_exhausted", "tokens_exceeded", ""),
    stop("budget_exhausted", "time_exceeded", ""),
    stop("budget_exhausted", "max_steps_exceeded", ""),
    stop("handoff", "requested", ""),
    stop("blocked", "invalid_decision", ""),
  ];

  test("the first in the order of the contract wins, wherever it stands", () => {
    for (const [i, first] of IN_ORDER.entries()) {
      for (const later of IN_ORDER.slice(i + 1)) {
        expect(firstStop([later, null, first])).toBe(first);
        expect(firstStop([first, later])).toBe(first);
      }
    }
  });

  test("no stop is none", () => {
    expect(firstStop([])).toBeNull();
    expect(firstStop([null, null])).toBeNull();
  });

  test("every other reason comes before a completion", () => {
    const last = stop("completed", "answered", "");
    for (const status of TERMINAL_STATUSES.filter((s) => s !== "completed")) {
      for (const reason of REASONS[status]) {
        expect(firstStop([last, stop(status, reason, "")])).toMatchObject({ status, reason });
      }
    }
  });
});
