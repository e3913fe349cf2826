/**
 * What may stand in a log line. Arguments are shown by shape: ids and short codes stay readable,
 * free text, addresses, card numbers and secrets do not. Redacted here, since pino's paths are
 * shallow.
 */
import { isJsonObject, type Json } from "../core/json.ts";

/** Order ids, statuses, currency codes: what the on-call engineer needs to find the case. */
const CODE = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,39}$/;
const SECRET_NAME = /(pass|secret|token|key|auth|card|iban|cvv|ssn|phone|email|address|name)/i;
const LONG_DIGITS = /\d{12,}/;
const MOST_ENTRIES = 20;
const MOST_DEPTH = 4;

/**
 * Returns a copy that is safe to log: `<text 5000>` instead of a text, `<redacted>` instead of a
 * secret.
 */
export function redact(value: Json, depth = 0): Json {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "number") return hasLongDigits(String(value)) ? "<number>" : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MOST_DEPTH) return "<nested>";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_ENTRIES).map((item: Json) => redact(item, depth + 1));
    return value.length > MOST_ENTRIES ? [...shown, `<${value.length} in all>`] : shown;
  }
  if (!isJsonObject(value)) return null;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MOST_ENTRIES)
      .map(([name, inner]) => [
        redactText(name),
        SECRET_NAME.test(name) && typeof inner !== "boolean"
          ? "<redacted>"
          : redact(inner, depth + 1),
      ]),
  );
}

/** Free text is told by its length only: it may hold anything a customer or a model wrote. */
export function redactText(text: string): string {
  if (CODE.test(text) && !hasLongDigits(text)) return text;
  return `<text ${text.length}>`;
}

/** Card and account numbers, however they are grouped. */
function hasLongDigits(text: string): boolean {
  return LONG_DIGITS.test(text.replaceAll(/[-. /:_]/g, ""));
}
