/**
 * A message may say only what the facts it claims say, or what the customer wrote. Every number,
 * date, amount, id and status word in it is looked up; one that is found nowhere is unsupported.
 */
import type { AgentSpec } from "./agent-spec.ts";
import { valuesOf } from "./condition.ts";
import type { Json } from "./json.ts";
import { sameEntity } from "./reduce-facts.ts";
import { newestFact, type Fact, type RunState, type SupportedClaim } from "./run-state.ts";
import { statusWordsIn, valuesIn, type Value } from "./message-values.ts";

export interface Claim {
  /** A fact's key (its newest value) or a fact's id. */
  readonly fact: string;
}

export type AnswerReading =
  | { readonly ok: true; readonly message: string; readonly claims: readonly SupportedClaim[] }
  | { readonly ok: false; readonly unsupported: readonly string[] };

/** One class and no more: `\s*` beside it would backtrack for seconds over a long run of spaces. */
const TEMPLATE = /\{\{([^{}]+)\}\}/g;

/** Replaces `{{KEY}}` by the newest value of that fact; a key without a fact stays as it is. */
export function renderTemplate(text: string, state: RunState): { text: string; used: Fact[] } {
  const used: Fact[] = [];
  const rendered = text.replaceAll(TEMPLATE, (whole, key: string) => {
    const fact = newestFact(state, key.trim());
    if (fact === null) return whole;
    used.push(fact);
    return typeof fact.value === "string" ? fact.value : JSON.stringify(fact.value);
  });
  return { text: rendered, used };
}

/** Takes a terminal's text and its claims; returns the text to send or what has no support. */
export function checkMessage(
  text: string,
  claims: readonly Claim[],
  state: RunState,
  agent: AgentSpec,
): AnswerReading {
  const rendered = renderTemplate(text, state);
  const unsupported: string[] = [...rendered.text.matchAll(TEMPLATE)].map((m) => m[0]);
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
  for (const word of statusWordsIn(own, statusVocabulary(state, agent))) {
    if (!isStatusSupported(word, own, sources)) unsupported.push(word);
  }
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
  if (a.date !== null && b.date !== null) return a.date === b.date;
  return a.number !== null && a.number === b.number;
}

function isStatusSupported(word: string, message: string, sources: Sources): boolean {
  if (statusWordsIn(sources.ticketText, new Set([word])).length > 0) return true;
  return sources.facts.some((fact) => {
    const said = leavesOf(fact.value).find(
      (leaf): leaf is string => typeof leaf === "string" && hasWord(leaf, word),
    );
    // `not_shipped` says "not shipped"; `shipped` does not.
    if (said !== undefined) return isDenied(said, word) === isDenied(message, word);
    // order.paid = true says "paid"; false says "not paid".
    if (typeof fact.value !== "boolean" || !hasWord(fact.key, word)) return false;
    return fact.value !== isDenied(message, word);
  });
}

function hasWord(text: string, word: string): boolean {
  return statusWordsIn(text.replaceAll(".", " "), new Set([word])).length > 0;
}

function isDenied(message: string, word: string): boolean {
  const words = message.toLowerCase().split(/[\s_-]+/);
  const [first = word] = word.split(/[\s_-]+/);
  const at = words.findIndex((w) => w.includes(first));
  return words.slice(Math.max(0, at - 3), at).some((w) => /^(not|no|never)$|n['’]t$/.test(w));
}

function claimsNone(message: string): boolean {
  return /\b(none|nothing|no|zero|empty|all|every|only)\b/i.test(message);
}

/**
 * Status words: every one-word or snake_case text that the run has seen as a status or that the
 * agent's rules name, and the words that no support answer may use lightly.
 */
function statusVocabulary(state: RunState, agent: AgentSpec): ReadonlySet<string> {
  const rules = [...agent.postcondition, ...agent.contradictions.flatMap((rule) => rule.when)];
  const statuses = state.facts.filter((fact) => /status|state$/i.test(fact.key));
  const values: Json[] = [...statuses.map((fact) => fact.value), ...rules.flatMap(valuesOf)];
  const words = values
    .flatMap(leavesOf)
    .filter((leaf): leaf is string => typeof leaf === "string" && STATUS_SHAPE.test(leaf));
  return new Set([...COMMON_STATUS_WORDS, ...words.map((word) => word.toLowerCase())]);
}

const STATUS_SHAPE = /^(?=.{3})[a-z]+(?:[_ -][a-z]+){0,3}$/i;
const COMMON_STATUS_WORDS = [
  "paid",
  "unpaid",
  "refunded",
  "delivered",
  "shipped",
  "cancelled",
  "canceled",
  "closed",
  "pending",
  "lost",
  "stolen",
  "declined",
  "rejected",
  "approved",
  "dispatched",
  "damaged",
];

type Scalar = null | boolean | number | string;

function leavesOf(value: Json): Scalar[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap((inner) => leavesOf(inner));
}

function ticketText(state: RunState): string {
  const { subject, body, attributes, id } = state.ticket;
  const texts = [id, subject, body, ...state.replies.map((reply) => reply.text)];
  return [...texts, ...leavesOf(attributes).map(String)].join("\n");
}
