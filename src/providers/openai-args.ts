/**
 * The arguments of a call on the wire: our own `_reason` and `_expected` among the tool's. They are
 * put in and taken off as text, so that every byte of the rest stays as the model wrote it: digits
 * that a parser would round, and mistakes that the core must see.
 */
import { isJsonObject, jsonEqual, readJson, type Json, type JsonObject } from "../core/json.ts";
import { EXPECTED_KEY, expectationOf, REASON_KEY, withoutNulls } from "./openai-schema.ts";

export interface WireArguments {
  /** Without our own keys. */
  readonly text: string;
  readonly reason: string;
  readonly expected: Json;
}

interface Member {
  readonly key: string;
  /** Of the whole member with the comma that goes with it, and of its value. */
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

/**
 * Takes the text of a call's arguments, and the tool's own schema where a strict server was made
 * to send null for what is left out.
 */
export function readWireArguments(text: string, schema: JsonObject | undefined): WireArguments {
  const members = membersOf(text);
  const valueOf = (key: string): Json | undefined => {
    const found = members?.findLast((member) => member.key === key);
    return found === undefined ? undefined : parsed(found.value);
  };
  const reason = valueOf(REASON_KEY);
  const rest = without(text, members ?? [], [REASON_KEY, EXPECTED_KEY]);
  return {
    text: withGivenOnly(rest, schema),
    reason: typeof reason === "string" ? reason : "",
    expected: expectationOf(valueOf(EXPECTED_KEY)),
  };
}

/**
 * Puts our keys behind the last member of an object's text, whatever the rest of it is; any other
 * text stays as it is.
 */
export function writeWireArguments(text: string, own: JsonObject): string {
  const added = Object.entries(own).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
  );
  const body = text.trim() === "" ? "{}" : text;
  const end = body.lastIndexOf("}");
  if (end < 0 || added.length === 0 || !body.trimStart().startsWith("{")) return body;
  const isEmpty = /\{\s*$/.test(body.slice(0, end));
  return `${body.slice(0, end)}${isEmpty ? "" : ","}${added.join(",")}${body.slice(end)}`;
}

/** Digits beyond these are rounded by a parser: such a text is left alone. */
const LONG_NUMBER = /\d{16,}/;

function withGivenOnly(text: string, schema: JsonObject | undefined): string {
  if (schema === undefined || LONG_NUMBER.test(text)) return text;
  // What is nested too deeply to be read is for the validation to refuse.
  const read = readJson(parsed(text));
  if (!read.ok || !isJsonObject(read.value)) return text;
  const given = withoutNulls(read.value, schema);
  return jsonEqual(given, read.value) ? text : JSON.stringify(given);
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function without(text: string, members: readonly Member[], keys: readonly string[]): string {
  let rest = text;
  for (const { key, from, to } of members.toReversed()) {
    if (keys.includes(key)) rest = rest.slice(0, from) + rest.slice(to);
  }
  // The last member went and left the comma before it.
  return rest.length === text.length ? text : rest.replace(/,(\s*\}\s*)$/, "$1");
}

/** The members of the object that a text is, values unread; null for a text that is none. */
function membersOf(text: string): Member[] | null {
  const open = /^\s*\{/.exec(text)?.[0].length;
  if (open === undefined) return null;
  const members: Member[] = [];
  let at = open;
  while (at < text.length) {
    const head = /^\s*("(?:[^"\\]|\\.)*")\s*:/s.exec(text.slice(at));
    if (head === null) return members;
    const start = at + head[0].length;
    const end = endOfValue(text, start);
    const hasComma = text[end] === ",";
    const key = parsed(head[1] ?? "");
    const value = text.slice(start, end);
    const to = hasComma ? end + 1 : end;
    if (typeof key === "string") members.push({ key, from: at, to, value });
    if (!hasComma) return members;
    at = to;
  }
  return members;
}

/** The comma or the brace that ends a value: outside of strings, at its own depth. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let isText = false;
  for (let i = start; i < text.length; i += 1) {
    const char = text[i];
    if (isText) {
      if (char === "\\") i += 1;
      else if (char === '"') isText = false;
      continue;
    }
    if (char === '"') isText = true;
    else if (char === "{" || char === "[") depth += 1;
    else if (depth === 0 && (char === "," || char === "}")) return i;
    else if (char === "}" || char === "]") depth -= 1;
  }
  return text.length;
}
