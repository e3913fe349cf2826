/**
 * JSON Schema as Cedar types, as far as Cedar has them: texts, whole numbers, booleans, sets and
 * closed records. Null is not a value in Cedar: what may be null is optional.
 */
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { CedarAttributes, CedarType } from "./cedar-engine.ts";

export interface Field {
  /** null: Cedar has no type for it. */
  readonly type: CedarType | null;
  /** Always there and never null once the arguments are validated and defaults filled in. */
  readonly isRequired: boolean;
}

export const STRING: CedarType = { type: "String" };
export const LONG: CedarType = { type: "Long" };
export const BOOLEAN: CedarType = { type: "Boolean" };

export type RecordType = Extract<CedarType, { readonly type: "Record" }>;

export function recordOf(fields: Iterable<readonly [string, CedarAttributes[string]]>): RecordType {
  return { type: "Record", attributes: Object.fromEntries(fields) };
}

export function optional(type: CedarType): CedarAttributes[string] {
  return { ...type, required: false };
}

/** The declared fields of an object schema. */
export function fieldsOf(schema: JsonObject): Map<string, Field> {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = listAt(schema, "required") ?? [];
  return new Map(
    Object.entries(properties).map(([name, property]) => {
      if (!isJsonObject(property)) return [name, { type: null, isRequired: false }];
      const found = typeOf(property);
      const isThere = required.includes(name) || Object.hasOwn(property, "default");
      // What Cedar cannot type may be null for all we know.
      const isRequired = isThere && found !== null && !found.isNullable;
      return [name, { type: found?.type ?? null, isRequired }];
    }),
  );
}

/** Whether fields that are not declared get through; an object without any declaration is open. */
export function isOpen(schema: JsonObject): boolean {
  const rest = schema["additionalProperties"];
  return rest === undefined ? !isJsonObject(schema["properties"]) : rest !== false;
}

interface Found {
  readonly type: CedarType;
  readonly isNullable: boolean;
}

function typeOf(schema: JsonObject): Found | null {
  const literals = listAt(schema, "enum") ?? ("const" in schema ? [schema["const"]] : null);
  if (literals !== null) return typeOfLiterals(literals);
  const either = listAt(schema, "anyOf") ?? listAt(schema, "oneOf");
  if (either !== null) return typeOfUnion(either);
  const named = listAt(schema, "type") ?? [schema["type"] ?? null];
  const [name, ...others] = named.filter((type) => type !== "null");
  const type = name === undefined || others.length > 0 ? null : typeNamed(name, schema);
  return type === null ? null : { type, isNullable: named.includes("null") };
}

function typeNamed(name: Json, schema: JsonObject): CedarType | null {
  switch (name) {
    case "string":
      return STRING;
    case "boolean":
      return BOOLEAN;
    // Cedar counts in whole numbers: a fraction is refused when the call is decided.
    case "integer":
    case "number":
      return LONG;
    case "array": {
      const items = isJsonObject(schema["items"]) ? typeOf(schema["items"]) : null;
      return items === null || items.isNullable ? null : { type: "Set", element: items.type };
    }
    case "object":
      return isOpen(schema) ? null : closedRecord(schema);
    default:
      return null;
  }
}

function closedRecord(schema: JsonObject): CedarType | null {
  const entries: [string, CedarAttributes[string]][] = [];
  for (const [name, { type, isRequired }] of fieldsOf(schema)) {
    if (type === null) return null;
    entries.push([name, { ...type, required: isRequired }]);
  }
  return recordOf(entries);
}

function typeOfLiterals(literals: readonly Json[]): Found | null {
  const values = literals.filter((value) => value !== null);
  const kinds = new Set(values.map((value) => typeof value));
  const kind = kinds.size === 1 ? [...kinds][0] : undefined;
  const type = kind === undefined || kind === "object" ? null : typeNamed(kind, {});
  return type === null ? null : { type, isNullable: values.length < literals.length };
}

function typeOfUnion(members: readonly Json[]): Found | null {
  const isNull = (member: Json): boolean => isJsonObject(member) && member["type"] === "null";
  const others = members.filter((member) => !isNull(member));
  const found = others.map((member) => (isJsonObject(member) ? typeOf(member) : null));
  const [first] = found;
  const isOne = found.every((other) => JSON.stringify(other) === JSON.stringify(first));
  if (first === undefined || first === null || !isOne) return null;
  return { type: first.type, isNullable: first.isNullable || others.length < members.length };
}

function listAt(schema: JsonObject, name: string): readonly Json[] | null {
  const list = schema[name];
  return Array.isArray(list) ? (list as Json[]) : null;
}
