/**
 * JSON Schemas in the strict dialect of model servers: a server that is given one makes no
 * arguments that break it. Every key is required and nothing else is allowed (as OpenAI's
 * structured outputs have it).
 */
import { isJsonObject, type Json, type JsonObject } from "./json.ts";

/** A key that may be left out: as one that may be null, or a reason against the schema. */
export type OptionalKeys = "nullable" | "refused";

export type StrictReading =
  | { readonly ok: true; readonly schema: JsonObject }
  /** `path` into the schema; `why` is for whoever wrote it. */
  | { readonly ok: false; readonly path: string; readonly why: string };

export function readStrict(schema: JsonObject, optional: OptionalKeys): StrictReading {
  try {
    return { ok: true, schema: strictObject(schema, "", { optional, depth: 1 }) };
  } catch (error) {
    if (error instanceof NotStrict) return { ok: false, path: error.path, why: error.message };
    throw error;
  }
}

class NotStrict extends Error {
  readonly path: string;

  constructor(path: string, why: string) {
    super(why);
    this.name = "NotStrict";
    this.path = path;
  }
}

/** Objects within objects that a server takes. */
const MOST_LEVELS = 10;
/** Keywords that the strict dialect has no word for, and that our own validation checks anyway. */
const DROPPED: readonly string[] = ["$schema", "default", "title", "examples"];
/** With any of these there is no strict form. */
const OPEN: readonly string[] = [
  "$ref",
  "$defs",
  "definitions",
  "patternProperties",
  "propertyNames",
  "prefixItems",
  "oneOf",
  "allOf",
  "not",
  "if",
  "dependentRequired",
  "dependentSchemas",
];

interface Within {
  readonly optional: OptionalKeys;
  readonly depth: number;
}

function refuseOpen(schema: JsonObject, path: string): void {
  const key = OPEN.find((name) => Object.hasOwn(schema, name));
  if (key !== undefined) throw new NotStrict(path, `${key} has no strict form`);
}

function strictSchema(schema: Json | undefined, path: string, within: Within): JsonObject {
  if (!isJsonObject(schema)) throw new NotStrict(path, "is no object");
  refuseOpen(schema, path);
  if (schema["type"] === "object" || Object.hasOwn(schema, "properties")) {
    return strictObject(schema, path, { ...within, depth: within.depth + 1 });
  }
  const entries = Object.entries(schema)
    .filter(([key]) => !DROPPED.includes(key))
    .map(([key, value]): [string, Json] => {
      if (key === "items") return [key, strictSchema(value, `${path}/items`, within)];
      if (key === "anyOf" && Array.isArray(value)) {
        return [key, value.map((of, i) => strictSchema(of, `${path}/anyOf/${i}`, within))];
      }
      return [key, value];
    });
  if (entries.length === 0) throw new NotStrict(path, "takes anything");
  return Object.fromEntries(entries);
}

function strictObject(schema: JsonObject, path: string, within: Within): JsonObject {
  const { additionalProperties = false } = schema;
  if (additionalProperties !== false) throw new NotStrict(path, "takes keys that it does not name");
  refuseOpen(schema, path);
  if (within.depth > MOST_LEVELS) throw new NotStrict(path, `is deeper than ${MOST_LEVELS} levels`);
  const required = requiredOf(schema);
  const properties = Object.entries(propertiesOf(schema)).map(([name, of]): [string, Json] => {
    const at = `${path}/properties/${name}`;
    const strict = strictSchema(of, at, within);
    if (required.includes(name)) return [name, strict];
    if (within.optional === "refused") throw new NotStrict(at, "may be left out");
    return [name, nullable(strict)];
  });
  const { description } = schema;
  return {
    type: "object",
    ...(typeof description === "string" ? { description } : {}),
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
    additionalProperties: false,
  };
}

function nullable(schema: JsonObject): JsonObject {
  return isNullable(schema) ? schema : { anyOf: [schema, { type: "null" }] };
}

export function isNullable(schema: JsonObject): boolean {
  const { type, anyOf } = schema;
  if (type === "null" || (Array.isArray(type) && type.includes("null"))) return true;
  return Array.isArray(anyOf) && anyOf.some((of) => isJsonObject(of) && isNullable(of));
}

export function propertiesOf(schema: JsonObject): JsonObject {
  const { properties } = schema;
  return isJsonObject(properties) ? properties : {};
}

export function requiredOf(schema: JsonObject): readonly Json[] {
  return Array.isArray(schema["required"]) ? schema["required"] : [];
}
