/**
 * Status words in a message: each must be what a claimed fact says, or the customer's own word. A
 * word inside a longer status is not that status: `partially_refunded` does not say "refunded".
 */
import type { AgentSpec } from "./agent-spec.ts";
import { valuesOf } from "./condition.ts";
import { leavesOf, type Json } from "./json.ts";
import { statusWordsIn } from "./message-values.ts";
import type { Fact } from "./fact.ts";
import type { RunState } from "./run-state.ts";

interface Sources {
  readonly facts: readonly Fact[];
  readonly ticketText: string;
}

/** The status words of a message that nothing supports; longer ones are looked at first. */
export function unsupportedStatuses(
  message: string,
  sources: Sources,
  vocabulary: ReadonlySet<string>,
): string[] {
  const found = statusWordsIn(message, vocabulary).toSorted((a, b) => b.length - a.length);
  const unsupported: string[] = [];
  let rest = flat(message);
  for (const word of found) {
    const phrase = flat(word);
    if (!rest.includes(phrase)) continue;
    if (isSupported(phrase, rest, sources)) rest = rest.replaceAll(phrase, " · ");
    else unsupported.push(word);
  }
  return unsupported;
}

function isSupported(phrase: string, message: string, sources: Sources): boolean {
  if (flat(sources.ticketText).includes(phrase)) return true;
  const denials = denialsOf(message, phrase);
  const isNever = denials.every((denied) => !denied);
  const isAlways = denials.every((denied) => denied);
  return sources.facts.some((fact) => {
    for (const leaf of leavesOf(fact.value)) {
      if (typeof leaf !== "string") continue;
      if (saysOnly(leaf, phrase)) return isNever;
      // `not_shipped` says "not shipped".
      if (flat(leaf) === ` not${phrase}`) return isAlways;
    }
    // order.paid = true says "paid"; false says "not paid".
    if (typeof fact.value !== "boolean" || !flat(fact.key).includes(phrase)) return false;
    return fact.value ? isNever : isAlways;
  });
}

/** A status is one word or phrase; a sentence of a tool may hold the word among others. */
function saysOnly(leaf: string, phrase: string): boolean {
  const text = flat(leaf);
  return STATUS_SHAPE.test(leaf.trim()) ? text === phrase : text.includes(phrase);
}

/**
 * For each time the phrase stands in the message: is it denied by one of the three words before?
 */
function denialsOf(message: string, phrase: string): boolean[] {
  return message
    .split(phrase)
    .slice(0, -1)
    .map((before) => {
      const words = before.trim().split(" ").slice(-3);
      return words.some((w) => DENIALS.has(w));
    });
}

/** `isn't` is flattened to `isn t`. */
const DENIALS = new Set(["not", "no", "never", "t"]);

/** Lower case words with one space around each. */
function flat(text: string): string {
  return ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
}

/**
 * Status words: every one-word or snake_case text that the run has seen as a status or that the
 * agent's rules name, and the words that no support answer may use lightly.
 */
export function statusVocabulary(
  message: string,
  state: RunState,
  agent: AgentSpec,
): ReadonlySet<string> {
  const rules = [...agent.postcondition, ...agent.contradictions.flatMap((rule) => rule.when)];
  const statuses = state.facts.filter((fact) => /status|state$/i.test(fact.key));
  const values: Json[] = [...statuses.map((fact) => fact.value), ...rules.flatMap(valuesOf)];
  const words = values
    .flatMap(leavesOf)
    .filter((leaf): leaf is string => typeof leaf === "string" && STATUS_SHAPE.test(leaf));
  const codes = [...message.matchAll(SNAKE_CASE)]
    .map(([code]) => code)
    .filter((code) => !agent.tools.has(code) && !agent.terminals.has(code));
  return new Set([...COMMON_STATUS_WORDS, ...codes, ...words.map((word) => word.toLowerCase())]);
}

/** What no person writes but a status: `in_transit`, `awaiting_payment`. */
const SNAKE_CASE = /\b[a-z]+(?:_[a-z]+)+\b/g;
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
  "returned",
  "in_transit",
  "label_created",
  "damaged",
];
