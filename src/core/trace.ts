/**
 * From what a run says at its end back to the bytes that say so: claim → fact → step → call →
 * pointer → recorded value. Each link is looked up anew in the journal; the first one that is
 * missing or differs is named, and nothing after it is believed.
 */
import { digest } from "./call-key.ts";
import { parseEvent, type Event, type EventOf } from "./event.ts";
import { firstDifference } from "./first-difference.ts";
import { isJsonObject, jsonEqual, type Json, type JsonObject } from "./json.ts";
import { resolvePointer } from "./pointer.ts";
import { replay } from "./reduce.ts";
import type { Fact, SupportedClaim } from "./fact.ts";
import type { Outcome } from "./outcome.ts";
import type { RunState } from "./run-state.ts";
import type { Reason, Status } from "./stop.ts";

export interface Break {
  readonly link:
    | "outcome"
    | "claim"
    | "fact"
    | "call"
    | "step"
    | "result"
    | "digest"
    | "pointer"
    | "value";
  readonly detail: string;
}

export interface TracedClaim extends SupportedClaim {
  readonly source: Pick<
    Fact,
    "step" | "tool" | "callId" | "pointer" | "observedAt" | "partial"
  > | null;
  readonly call: { readonly args: JsonObject; readonly reason: string } | null;
  readonly recorded: {
    /** Inline in the journal, or under a key of its own that the journal refers to. */
    readonly in: "journal" | "reference";
    readonly chars: number;
    readonly digest: string;
    /** At the pointer; left out for a partial fact, which holds only its beginning. */
    readonly value?: Json;
  } | null;
  readonly broken: Break | null;
}

export interface Trace {
  readonly id: string;
  readonly status: Status;
  readonly reason: Reason | null;
  /** Null for a run that goes on: its facts so far are traced. */
  readonly outcome: Outcome["kind"] | null;
  readonly ok: boolean;
  /** Of the outcome as a whole: not the one that the journal ended with. */
  readonly broken: Break | null;
  readonly claims: readonly TracedClaim[];
}

export interface Recorded {
  readonly state: RunState;
  /** Every saved line of the journal, as stored. */
  readonly lines: readonly string[];
  /** JSON text of the results that stand under a key of their own, by call id. */
  readonly results: ReadonlyMap<string, string>;
}

/** Throws PAWL_EVENT_UNREADABLE where the journal itself cannot be read or folded. */
export function traceOf({ state, lines, results }: Recorded): Trace {
  const events = lines.map(parseEvent);
  const told = replay(events);
  const journal = { told, events, lines, results };
  const claims = claimsOf(state).map((claim) => traceClaim(state, journal, claim));
  const parted = firstDifference(asJson(state.outcome), asJson(told.outcome));
  const broken =
    parted === null
      ? null
      : breakOf("outcome", `the saved outcome differs from the journal's at ${parted || "/"}`);
  return {
    id: state.id,
    status: state.status,
    reason: state.reason,
    outcome: state.outcome?.kind ?? null,
    ok: broken === null && claims.every((claim) => claim.broken === null),
    broken,
    claims,
  };
}

/** The calls whose results stand under a key of their own. */
export function referencedCalls(events: readonly Event[]): string[] {
  return events.flatMap((event) =>
    event.type === "called" && event.ref !== undefined ? [event.callId] : [],
  );
}

interface Journal extends Omit<Recorded, "state"> {
  /** The state that the journal gives. */
  readonly told: RunState;
  readonly events: readonly Event[];
}

/** What is to be proved: an answer's claims, a report's known facts, else all facts so far. */
function claimsOf(state: RunState): readonly SupportedClaim[] {
  const { outcome } = state;
  if (outcome?.kind === "answer" || outcome?.kind === "effect") return outcome.claims;
  const facts = outcome === null ? state.facts : outcome.known;
  return facts.map(({ id, key, value }) => ({ factId: id, key, value }));
}

function traceClaim(state: RunState, journal: Journal, claim: SupportedClaim): TracedClaim {
  const nothing = { ...claim, source: null, call: null, recorded: null };
  const fact = state.facts.find((f) => f.id === claim.factId);
  if (fact === undefined) {
    return { ...nothing, broken: breakOf("claim", `there is no fact ${claim.factId}`) };
  }
  if (fact.key !== claim.key || !jsonEqual(fact.value, claim.value)) {
    const detail = `the claim differs from fact ${fact.id}`;
    return { ...nothing, broken: breakOf("claim", detail) };
  }
  const { step, tool, callId, pointer, observedAt, partial } = fact;
  const sourced = { ...nothing, source: { step, tool, callId, pointer, observedAt, partial } };
  const parted = differenceOf(fact, journal);
  if (parted !== null) return { ...sourced, broken: breakOf("fact", parted) };
  const index = journal.events.findIndex((event) => isCallOf(event, fact));
  const called = journal.events[index];
  if (called?.type !== "called") {
    const detail = `the journal has no successful call ${callId} of ${tool} in step ${step}`;
    return { ...sourced, broken: breakOf("call", detail) };
  }
  const reason = reasonOf(journal.events, fact);
  if (reason === null) {
    const detail = `no step up to ${step} decided call ${callId}`;
    return { ...sourced, broken: breakOf("step", detail) };
  }
  const text = recordedText(called, journal, index);
  return { ...sourced, call: { args: called.args, reason }, ...checkRecord(called, fact, text) };
}

/** The saved fact against the one that the journal gives. */
function differenceOf(fact: Fact, { told }: Journal): string | null {
  const other = told.facts.find((f) => f.id === fact.id);
  if (other === undefined) return `the journal gives no fact ${fact.id}`;
  const parted = firstDifference(asJson(fact), asJson(other));
  return parted === null ? null : `fact ${fact.id} differs from the journal's at ${parted}`;
}

function isCallOf(event: Event, fact: Fact): boolean {
  return (
    event.type === "called" &&
    event.callId === fact.callId &&
    event.step === fact.step &&
    event.tool === fact.tool &&
    event.outcome === "succeeded"
  );
}

/** Of the decision that named the call; an approved effect was decided steps before. */
function reasonOf(events: readonly Event[], fact: Fact): string | null {
  for (const event of events) {
    if (event.type !== "decided" || event.step > fact.step) continue;
    const call = event.calls.find((c) => c.id === fact.callId);
    if (call !== undefined) return call.reason;
  }
  return null;
}

/**
 * The bytes as stored: a line that parses to the same and reads otherwise was written by others.
 */
function recordedText(called: EventOf<"called">, journal: Journal, index: number): string | null {
  if (called.ref !== undefined) return journal.results.get(called.callId) ?? null;
  if (called.result === undefined) return null;
  const line = journal.lines[index] ?? "";
  const event = JSON.parse(line) as { readonly result: Json };
  return JSON.stringify(event) === line ? JSON.stringify(event.result) : null;
}

function checkRecord(
  called: EventOf<"called">,
  fact: Fact,
  text: string | null,
): Pick<TracedClaim, "recorded" | "broken"> {
  const where = called.ref === undefined ? "journal" : "reference";
  const ofCall = `the result of call ${called.callId}`;
  if (text === null) {
    const detail =
      where === "journal"
        ? `${ofCall} does not stand in the journal as Pawl writes it`
        : `${ofCall} is stored under its own key, and there is none`;
    return { recorded: null, broken: breakOf("result", detail) };
  }
  const seen = { in: where, chars: text.length, digest: digest(text) } as const;
  if (seen.digest !== called.digest) {
    const detail = `${ofCall} is not what was recorded: its SHA-256 is another`;
    return { recorded: seen, broken: breakOf("digest", detail) };
  }
  // The digest holds, so this is the text that JSON.stringify wrote.
  const at = resolvePointer(JSON.parse(text) as Json, fact.pointer);
  if (!at.found) {
    const detail = `${ofCall} has nothing at ${fact.pointer}`;
    return { recorded: seen, broken: breakOf("pointer", detail) };
  }
  const recorded = fact.partial ? seen : { ...seen, value: at.value };
  const holds = fact.partial
    ? isCutOf(fact.value, at.value)
    : firstDifference(fact.value, at.value) === null;
  const detail = `fact ${fact.id} is not what ${ofCall} has at ${fact.pointer || "its root"}`;
  return { recorded, broken: holds ? null : breakOf("value", detail) };
}

/** A partial fact is the beginning of its value: first characters, first items, first entries. */
function isCutOf(part: Json, whole: Json): boolean {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.every((item: Json, i) => jsonEqual(item, whole[i] as Json));
  }
  if (!isJsonObject(part) || !isJsonObject(whole)) return false;
  const names = Object.keys(whole);
  return Object.entries(part).every(
    ([name, value], i) => names[i] === name && jsonEqual(value, whole[name]),
  );
}

function breakOf(link: Break["link"], detail: string): Break {
  return { link, detail };
}

function asJson(value: object | null): Json {
  return value as Json;
}
