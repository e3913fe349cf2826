/**
 * What came of a case, gathered from the run's journal and the world's books, and compared with
 * what was expected: one failure a path, with the value wanted and the value seen.
 */
import { jsonEqual, type Json } from "../core/json.ts";
import type { Event } from "../core/event.ts";
import { protocolOf, toolErrorsOf, type ProtocolRow } from "../core/protocol.ts";
import type { RunState } from "../core/run-state.ts";
import type { Case } from "./case.ts";
import type { WorldTotals } from "./world.ts";

export interface Failure {
  readonly path: string;
  readonly want: unknown;
  readonly got: unknown;
}

export interface Seen {
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly world: WorldTotals;
  readonly eventErrors: readonly string[];
  /** Ended as failed/unreadable_state: the snapshot stands as it was. */
  readonly parked: boolean;
}

export interface Summary {
  readonly status: string;
  readonly reason: string | null;
  readonly steps: number;
  readonly facts: Readonly<Record<string, Json>>;
  readonly effects: Readonly<Record<string, number>>;
  readonly effectKeys: Readonly<Record<string, number>>;
  readonly outward: readonly { readonly kind: string; readonly text: string }[];
}

/** What a crash must not change; also the heart of the result line. */
export function summaryOf(seen: Seen): Summary {
  const { state, world } = seen;
  const reason = seen.parked
    ? "unreadable_state"
    : (state.reason ?? (state.status === "waiting" ? (state.waiting?.for ?? null) : null));
  return {
    status: seen.parked ? "failed" : state.status,
    reason,
    steps: state.spent.steps,
    facts: Object.fromEntries(state.facts.map((fact) => [fact.key, fact.value])),
    effects: world.effects,
    effectKeys: world.effectKeys,
    outward: state.outward.map(({ kind, text }) => ({ kind, text })),
  };
}

export function compare(file: Case, seen: Seen): Failure[] {
  const { expect } = file;
  const got = observed(file, seen);
  const failures: Failure[] = [];
  const same = (path: string, want: unknown, have: unknown): void => {
    if (want !== undefined && !jsonEqual(want as Json, have as Json)) {
      failures.push({ path, want, got: have });
    }
  };
  for (const key of PLAIN_KEYS) same(`/${key}`, expect[key], got[key]);
  for (const key of NAMED_KEYS) {
    for (const [name, want] of Object.entries(expect[key] ?? {})) {
      same(`/${key}/${name}`, want, got[key][name] ?? 0);
    }
  }
  for (const [name, want] of Object.entries(expect.spend ?? {})) {
    same(`/spend/${name}`, want, got.spend[name as keyof typeof got.spend]);
  }
  if (expect.refused !== undefined) same("/refused", expect.refused, null);
  failures.push(
    ...compareList("/journal", expect.journal, got.rows),
    ...compareWhole("/outward", expect.outward, got.outward),
    ...compareWhole("/waits", expect.waits, got.waits),
    ...compareHandoff(expect.handoff, seen),
    ...compareRequest(expect.lastRequest, seen),
  );
  return failures;
}

const PLAIN_KEYS = [
  "status",
  "reason",
  "steps",
  "modelCalls",
  "repliesLeft",
  "runs",
  "facts",
  "openQuestions",
  "toolErrors",
  "notExecuted",
  "lateResults",
  "aborted",
  "eventErrors",
  "paidButLost",
] as const;
const NAMED_KEYS = ["handlerCalls", "effects", "effectKeys"] as const;

function observed(file: Case, seen: Seen) {
  const { state, events, world } = seen;
  const summary = summaryOf(seen);
  return {
    ...summary,
    modelCalls: world.modelCalls,
    repliesLeft: Math.max(0, file.replies.length - state.modelTurns - (state.modelFaults ?? 0)),
    runs: 1,
    openQuestions: state.questions.filter((q) => q.open).length,
    toolErrors: toolErrorsOf(events),
    notExecuted: events.reduce((n, e) => (e.type === "not_executed" ? n + e.calls.length : n), 0),
    lateResults: 0,
    aborted: world.aborted,
    eventErrors: seen.eventErrors,
    paidButLost: state.paidButLost,
    handlerCalls: world.handlerCalls,
    spend: { tokens: state.spent.tokens, moneyMicroUsd: state.spent.moneyMicroUsd },
    rows: protocolOf(events).map(journalRow),
    waits: events.flatMap((e) =>
      e.type === "parked"
        ? [{ for: e.for, ...(e.until === null ? {} : { ms: e.until - e.at }) }]
        : [],
    ),
  };
}

/** A row with the permission as one word, as case files write it. */
function journalRow(row: ProtocolRow): Record<string, unknown> {
  return {
    ...row,
    permission: row.permission?.answer ?? null,
    rule: row.permission?.rule ?? null,
  };
}

/**
 * Named keys of named entries; an entry that names its step is looked up by it, else by position.
 */
function compareList(
  path: string,
  wanted: readonly Readonly<Record<string, Json>>[] | undefined,
  rows: readonly Record<string, unknown>[],
): Failure[] {
  return (wanted ?? []).flatMap((want, i) => {
    const row = want["step"] === undefined ? rows[i] : rows.find((r) => r["step"] === want["step"]);
    if (row === undefined) return [{ path: `${path}/${i}`, want, got: null }];
    return namedKeys(`${path}/${i}`, want, row);
  });
}

function compareWhole(
  path: string,
  wanted: readonly Readonly<Record<string, Json>>[] | undefined,
  rows: readonly object[],
): Failure[] {
  if (wanted === undefined) return [];
  if (wanted.length !== rows.length) return [{ path, want: wanted, got: rows }];
  return wanted.flatMap((want, i) =>
    namedKeys(`${path}/${i}`, want, rows[i] as Record<string, unknown>),
  );
}

function namedKeys(
  path: string,
  want: Readonly<Record<string, Json>>,
  row: Readonly<Record<string, unknown>>,
): Failure[] {
  return Object.entries(want).flatMap(([key, value]) =>
    jsonEqual(value, (row[key] ?? null) as Json)
      ? []
      : [{ path: `${path}/${key}`, want: value, got: row[key] ?? null }],
  );
}

function compareHandoff(want: Case["expect"]["handoff"], seen: Seen): Failure[] {
  if (want === undefined) return [];
  const { outcome } = seen.state;
  if (outcome === null || outcome.kind === "answer" || outcome.kind === "effect") {
    return [{ path: "/handoff", want, got: outcome?.kind ?? null }];
  }
  const failures: Failure[] = [];
  const got = {
    known: outcome.known.map((fact) => fact.key),
    unknown: outcome.unknown.length,
    contradicts: outcome.contradicts.map((c) => c.rule),
    tried: [...new Set(outcome.tried.map((t) => t.tool))],
  };
  for (const key of ["known", "contradicts", "tried"] as const) {
    const list = want[key];
    if (list !== undefined && !jsonEqual(list.toSorted(), got[key].toSorted())) {
      failures.push({ path: `/handoff/${key}`, want: list, got: got[key] });
    }
  }
  if (want.unknown !== undefined && want.unknown !== got.unknown) {
    failures.push({ path: "/handoff/unknown", want: want.unknown, got: got.unknown });
  }
  return failures;
}

function compareRequest(want: Case["expect"]["lastRequest"], seen: Seen): Failure[] {
  if (want === undefined) return [];
  const request = seen.world.lastRequest;
  if (request === null) return [{ path: "/lastRequest", want, got: null }];
  const failures: Failure[] = [];
  if (want.tools !== undefined && !jsonEqual(want.tools.toSorted(), request.tools.toSorted())) {
    failures.push({ path: "/lastRequest/tools", want: want.tools, got: request.tools });
  }
  // Texts stand JSON-escaped in the request; a case names them as a person writes them.
  const holds = (text: string): boolean =>
    request.text.includes(text) ||
    request.text.includes(JSON.stringify(text).slice(1, -1).replaceAll("<", "\\u003c"));
  for (const text of want.contains ?? []) {
    if (!holds(text)) failures.push({ path: "/lastRequest/contains", want: text, got: false });
  }
  for (const text of want.lacks ?? []) {
    if (holds(text)) failures.push({ path: "/lastRequest/lacks", want: text, got: true });
  }
  const { unsendable } = request;
  if (want.sendable !== undefined && want.sendable !== (unsendable === null)) {
    const got = unsendable ?? true;
    failures.push({ path: "/lastRequest/sendable", want: want.sendable, got });
  }
  return failures;
}
