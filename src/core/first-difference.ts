/** Where two JSON documents part: what a replay or a trace says instead of showing the values. */
import { escapePointer, isJsonObject, type Json } from "./json.ts";

/** The JSON pointer of the first value that differs, in order of names; null: they are equal. */
export function firstDifference(
  a: Json | undefined,
  b: Json | undefined,
  path = "",
): string | null {
  if (Array.isArray(a) && Array.isArray(b)) {
    const length = Math.max(a.length, b.length);
    for (let i = 0; i < length; i += 1) {
      const found = firstDifference(a[i] as Json, b[i] as Json, `${path}/${i}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();
    for (const name of names) {
      const left = Object.hasOwn(a, name) ? a[name] : undefined;
      const right = Object.hasOwn(b, name) ? b[name] : undefined;
      const found = firstDifference(left, right, `${path}/${escapePointer(name)}`);
      if (found !== null) return found;
    }
    return null;
  }
  return a === b ? null : path;
}
