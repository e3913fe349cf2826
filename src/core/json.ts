/**
 * Plain JSON values: the only data that enters RunState, the journal or a tool's result.
 * Anything JSON.stringify would silently change (Date, Map, NaN, undefined, bytes) is refused here.
 */
import { z } from "zod";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export const jsonSchema: z.ZodType<Json> = z.json();
export const jsonObjectSchema: z.ZodType<JsonObject> = z.record(z.string(), jsonSchema);

/**
 * A nesting no honest result has; recursion past it would overflow the stack before it helps
 * anyone.
 */
const MAX_DEPTH = 200;

export type JsonReading =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly path: string; readonly kind: string };

/**
 * Takes any value; returns it as JSON, or the pointer and kind of the first thing that is not
 * JSON.
 */
export function readJson(value: unknown): JsonReading {
  try {
    return read(value, "", new Set(), 0);
  } catch {
    // A getter or a proxy of somebody else's object threw: a bad value, not a fault of ours.
    return refuse("", "a value that throws when it is read");
  }
}

function read(value: unknown, path: string, above: Set<object>, depth: number): JsonReading {
  if (value === null || typeof value === "boolean" || typeof value === "string") {
    return { ok: true, value };
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? { ok: true, value } : refuse(path, String(value));
  }
  if (typeof value !== "object") return refuse(path, typeof value);
  if (above.has(value)) return refuse(path, "cycle");
  if (depth > MAX_DEPTH) return refuse(path, `nesting deeper than ${MAX_DEPTH}`);
  const isList = Array.isArray(value);
  if (!isList && !isPlainObject(value)) return refuse(path, value.constructor?.name ?? "object");
  above.add(value);
  const reading = isList
    ? readList(value, path, above, depth)
    : readObject(value as Record<string, unknown>, path, above, depth);
  above.delete(value);
  return reading;
}

function readList(
  list: readonly unknown[],
  path: string,
  above: Set<object>,
  depth: number,
): JsonReading {
  const out: Json[] = [];
  for (let i = 0; i < list.length; i += 1) {
    const item = read(list[i], `${path}/${i}`, above, depth + 1);
    if (!item.ok) return item;
    out.push(item.value);
  }
  return { ok: true, value: out };
}

function readObject(
  record: Record<string, unknown>,
  path: string,
  above: Set<object>,
  depth: number,
): JsonReading {
  const entries: [string, Json][] = [];
  for (const [key, inner] of Object.entries(record)) {
    // The schemas drop this name when they read the journal again: replay would differ.
    if (key === "__proto__") return refuse(`${path}/__proto__`, "a name that is not allowed");
    const item = read(inner, `${path}/${escapePointer(key)}`, above, depth + 1);
    if (!item.ok) return item;
    entries.push([key, item.value]);
  }
  return { ok: true, value: Object.fromEntries(entries) };
}

function refuse(path: string, kind: string): JsonReading {
  return { ok: false, path, kind };
}

function isPlainObject(value: object): boolean {
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function escapePointer(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Equality by value: key order does not count, -0 equals 0. */
export function jsonEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item: Json, i) => jsonEqual(item, b[i] as Json));
  }
  const left = a as JsonObject;
  const right = b as JsonObject;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && jsonEqual(left[key], right[key]));
}

/** What a person is told a value is, without telling the value itself. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

type Scalar = null | boolean | number | string;

/** Every scalar of a value, in order. */
export function leavesOf(value: Json): Scalar[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap((inner) => leavesOf(inner));
}
