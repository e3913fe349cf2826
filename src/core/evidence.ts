/**
 * A message may say only what the facts it claims say, or what the customer wrote. Every number,
 * date, amount, id and status word in it is looked up; one that is found nowhere is unsupported.
 */
import type { AgentSpec } from "./agent-spec.ts";
import { leavesOf } from "./json.ts";
import { sameEntity } from "./reduce-facts.ts";
import { newestFact, type RunState } from "./run-state.ts";
import { type Fact, type SupportedClaim } from "./fact.ts";
import { valuesIn, type Value } from "./message-values.ts";
import { statusVocabulary, unsupportedStatuses } from "./status-words.ts";

export interface Claim {
  /** A fact's key (its newest value) or a fact's id. */
  readonly fact: string;
}

export type AnswerReading =
  | { readonly ok: true; readonly message: string; readonly claims: readonly SupportedClaim[] }
  | { readonly ok: false; readonly unsupported: readonly string[] };

/** One class and no more: `\s*` beside it would backtrack for seconds over a long run of spaces. */
const TEMPLATE = /\{\{([^{}]+)\}\}/g;

/** The fact keys that a text names as `{{KEY}}`. */
export function templateKeys(text: string): string[] {
  return [...text.matchAll(TEMPLATE)].map(([, key]) => (key ?? "").trim());
}

/** Replaces `{{KEY}}` by the newest value of that fact; a key without a fact stays as it is. */
export function renderTemplate(text: string, state: RunState) {
  const used: Fact[] = [];
  const unknown: string[] = [];
  const rendered = text.replaceAll(TEMPLATE, (whole, key: string) => {
    const fact = newestFact(state, key.trim());
    if (fact === null) {
      unknown.push(whole);
      return whole;
    }
    used.push(fact);
    return typeof fact.value === "string" ? fact.value : JSON.stringify(fact.value);
  });
  return { text: rendered, used, unknown };
}

/** Takes a terminal's text and its claims; returns the text to send or what has no support. */
export function checkMessage(
  text: string,
  claims: readonly Claim[],
  state: RunState,
  agent: AgentSpec,
): AnswerReading {
  const rendered = renderTemplate(text, state);
  const unsupported: string[] = [...rendered.unknown];
  const facts = [...rendered.used];
  for (const claim of claims) {
    const fact = claimedFact(state, claim);
    if (fact === null) unsupported.push(`claim ${claim.fact}`);
    else if (!facts.some((f) => f.id === fact.id)) facts.push(fact);
  }
  // What {{KEY}} put in is a fact's own value, so only the model's own words are searched.
  const own = text.replaceAll(TEMPLATE, " ");
  const sources = { facts, ticketText: ticketText(state) };
  for (const value of valuesIn(own)) {
    if (!isValueSupported(value, sources)) unsupported.push(value.text);
  }
  unsupported.push(...unsupportedStatuses(own, sources, statusVocabulary(own, state, agent)));
  if (facts.some((fact) => fact.partial) && claimsNone(own)) {
    unsupported.push("a statement about all of a list that was cut");
  }
  if (unsupported.length > 0) return { ok: false, unsupported: [...new Set(unsupported)] };
  return {
    ok: true,
    message: rendered.text,
    claims: facts.map((f) => ({ factId: f.id, key: f.key, value: f.value })),
  };
}

/** By key the newest; by id unless a newer value of the same entity has replaced it. */
function claimedFact(state: RunState, claim: Claim): Fact | null {
  const byKey = newestFact(state, claim.fact);
  if (byKey !== null) return byKey;
  const byId = state.facts.find((fact) => fact.id === claim.fact);
  if (byId === undefined) return null;
  const newer = newestFact(state, byId.key);
  const isReplaced = newer !== null && newer.id !== byId.id && sameEntity(newer.about, byId.about);
  return isReplaced ? null : byId;
}

interface Sources {
  readonly facts: readonly Fact[];
  readonly ticketText: string;
}

function isValueSupported(value: Value, sources: Sources): boolean {
  if (valuesIn(sources.ticketText).some((seen) => isSameValue(value, seen))) return true;
  return sources.facts.some((fact) => {
    const leaves = [...leavesOf(fact.value), ...leavesOf(fact.about)];
    // Amounts in the books are integer minor units; people write money with a point.
    const isMinor = /cents|minor/i.test(`${fact.key} ${fact.pointer}`);
    return leaves.some((leaf) => {
      if (typeof leaf !== "number")
        return valuesIn(String(leaf)).some((v) => isSameValue(value, v));
      if (value.number === null) return false;
      const isInMajor = isMinor && Math.round(value.number * 100) === leaf;
      return isInMajor || (value.number === leaf && !(isMinor && value.isMoney));
    });
  });
}

function isSameValue(a: Value, b: Value): boolean {
  if (a.text.toLowerCase() === b.text.toLowerCase()) return true;
  if (a.date !== null && b.date !== null) {
    // A day may be quoted from a moment; two moments of one day are two values.
    if (a.moment === null || b.moment === null) return a.date === b.date;
    return Date.parse(a.moment) === Date.parse(b.moment);
  }
  return a.number !== null && a.number === b.number;
}

function claimsNone(message: string): boolean {
  return (
    /\b(none|nothing|no|zero|empty|all|every|only)\b/i.test(message) ||
    /(?:\bnot|n['’]t)\s+(?:any|one|an?)\b/i.test(message)
  );
}

function ticketText(state: RunState): string {
  const { subject, body, attributes, id } = state.ticket;
  const texts = [id, subject, body, ...state.replies.map((reply) => reply.text)];
  return [...texts, ...leavesOf(attributes).map(String)].join("\n");
}
