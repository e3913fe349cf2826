/**
 * From what stood on the wire to validated, normalised arguments, or to the reason why not.
 * Nothing is repaired, reparsed or converted (bug cases ): a wrong value is an error.
 */
import { normaliseArgs, type ToolSpec } from "./agent-spec.ts";
import { canonicalJson } from "./call-key.ts";
import type { RawArguments } from "./decision.ts";
import { isJsonObject, kindOf, type Json, type JsonObject } from "./json.ts";

export type ArgumentsReading =
  | { readonly ok: true; readonly args: JsonObject }
  | { readonly ok: false; readonly message: string };

/**
 * Reads raw arguments as a JSON object. Blank text means `{}`; every other non-object is refused.
 */
export function readArguments(raw: RawArguments): ArgumentsReading {
  if ("notJson" in raw) return refuse(`arguments are not JSON: ${raw.notJson}`);
  const json = "text" in raw ? parseText(raw.text) : ({ ok: true, json: raw.json } as const);
  if (!json.ok) return json;
  if (!isJsonObject(json.json)) {
    return refuse(`arguments must be a JSON object, not ${kindOf(json.json)}`);
  }
  const strange = strangeValue(json.json, "");
  return strange === null ? { ok: true, args: json.json } : refuse(strange);
}

/** Reads, validates, normalises. The result has a canonical form, so it has a call key. */
export function readToolArguments(tool: ToolSpec, raw: RawArguments): ArgumentsReading {
  const reading = readArguments(raw);
  if (!reading.ok) return reading;
  const parsed = tool.parse(reading.args);
  return parsed.ok ? { ok: true, args: normaliseArgs(tool, parsed.args) } : refuse(parsed.issues);
}

function parseText(
  text: string,
): { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly message: string } {
  if (text.trim() === "") return { ok: true, json: {} };
  const lossy = lossyNumber(text);
  if (lossy !== null) {
    return refuse(`the number at character ${lossy} loses digits; send long ids as text`);
  }
  try {
    return { ok: true, json: JSON.parse(text) as Json };
  } catch {
    return refuse("arguments are not valid JSON");
  }
}

/** Strings are skipped whole; what is left that looks like a number is one. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** An integer that a double cannot hold would become another customer's id without a sound. */
function lossyNumber(text: string): number | null {
  for (const match of text.matchAll(STRING_OR_NUMBER)) {
    const token = match[0];
    if (token.startsWith('"')) continue;
    const value = Number(token);
    if (!Number.isFinite(value)) return match.index;
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(value)) return match.index;
  }
  return null;
}

/** `__proto__` and texts without a canonical form; zod would drop the first and pass the second. */
function strangeValue(value: Json, path: string): string | null {
  try {
    canonicalJson(value);
  } catch (error) {
    return error instanceof RangeError
      ? "arguments are nested too deeply"
      : "arguments hold a text with half of a surrogate pair";
  }
  return forbiddenKey(value, path);
}

function forbiddenKey(value: Json, path: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__") return `arguments at ${path}/__proto__: this name is not allowed`;
    const found = forbiddenKey(inner, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

function refuse(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
