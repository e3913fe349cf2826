/**
 * The context of a call as Cedar takes it. The arguments are the model's and are looked at whole,
 * read by a policy or not; of the rest only what some policy reads is handed over. Cedar's JSON has
 * escapes that make an entity of an object: nothing from outside may use them.
 */
import { isJsonObject, kindOf, type Json, type JsonObject } from "../core/json.ts";
import type { Reads } from "./cedar-reads.ts";
import type { PermitRequest } from "./policy.ts";

/** The engine reads JSON to a depth of 128, its own wrapping included. */
const MAX_DEPTH = 100;
/** The engine takes a millisecond per KB; what a policy reads is an id, an amount, a list. */
const MAX_CHARS = 65_536;
const ESCAPES = new Set(["__entity", "__extn", "__expr"]);
const HALF_A_PAIR = /\p{Surrogate}/u;

/** Throws where something cannot be said in Cedar without changing it. */
export function contextOf(request: PermitRequest, isApproved: boolean, reads: Reads): JsonObject {
  toCedar(request.args, ["args"]);
  const isRead = reads.isWhole || reads.children.size > 0;
  const picked = isRead ? pick(wholeContext(request, isApproved), reads) : {};
  const context = toCedar(picked, []) as JsonObject;
  const chars = JSON.stringify(context).length;
  if (chars > MAX_CHARS) {
    throw new Error(`the policy reads ${chars} characters, at most ${MAX_CHARS} are allowed`);
  }
  return context;
}

/** Null fields are left out below: Cedar asks `has` for them. */
function wholeContext(request: PermitRequest, isApproved: boolean): JsonObject {
  const { ticketId, customerId, ticket, spent, effectsOfRun, effectsOfCustomer } = request;
  return {
    args: request.args,
    facts: request.facts,
    ticket: { id: ticketId, customerId, attributes: ticket?.attributes ?? {} },
    customer: customerId === null ? null : { id: customerId },
    approved: isApproved,
    spent: {
      ...spent,
      effectsOfRun: effectsOfRun ?? null,
      effectsOfCustomer: effectsOfCustomer ?? null,
    },
  };
}

function pick(value: Json, reads: Reads): Json {
  if (value === null || reads.isWhole) return value;
  // Only whether it is there is asked for: what it is cannot matter.
  if (reads.children.size === 0) return true;
  if (!isJsonObject(value)) return value;
  const kept = [...reads.children].flatMap(([name, inner]): [string, Json][] => {
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    return field === undefined ? [] : [[name, pick(field, inner)]];
  });
  return Object.fromEntries(kept);
}

function toCedar(value: Json, path: readonly string[]): Json {
  if (path.length > MAX_DEPTH) throw strange(path, `nested deeper than ${MAX_DEPTH}`);
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return checkText(value, path);
  if (typeof value === "number") {
    if (Number.isSafeInteger(value)) return value;
    throw strange(path, "a number that is not whole, or too great to be exact");
  }
  if (Array.isArray(value)) return value.map((item: Json, i) => toCedar(item, [...path, `${i}`]));
  if (!isJsonObject(value)) throw strange(path, kindOf(value));
  const entries = Object.entries(value).flatMap(([name, inner]): [string, Json][] => {
    if (ESCAPES.has(name)) throw strange([...path, name], "a name that Cedar has for itself");
    checkText(name, path);
    return inner === null ? [] : [[name, toCedar(inner, [...path, name])]];
  });
  return Object.fromEntries(entries);
}

/** Half a pair becomes a replacement character on its way in: two texts would be one. */
function checkText(text: string, path: readonly string[]): string {
  if (HALF_A_PAIR.test(text)) throw strange(path, "a text with half of a surrogate pair");
  return text;
}

function strange(path: readonly string[], what: string): Error {
  return new Error(`context/${path.join("/").slice(0, 100)}: ${what}`);
}
