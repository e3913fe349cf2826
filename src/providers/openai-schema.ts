/**
 * A tool's JSON Schema as the OpenAI wires want it. Strict where it can be: every key required,
 * nothing else allowed, so that a server makes no arguments that break it. A working tool that has
 * optional keys goes as it is: a server would have to send null for a key left out, and null is a
 * value of its own that the tool may not take. Terminals are our own, where null never is one.
 */
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { ToolOffer } from "../core/offer.ts";
import { isNullable, propertiesOf, readStrict, requiredOf } from "../core/strict-schema.ts";

export const REASON_KEY = "_reason";
export const EXPECTED_KEY = "_expected";

export interface WireTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly strict: boolean;
}

type WireSchema = Pick<WireTool, "parameters" | "strict">;

/** By a tool's schema, which is one object for the life of its agent: converted once a tool. */
const converted = {
  working: new WeakMap<JsonObject, WireSchema>(),
  terminal: new WeakMap<JsonObject, WireSchema>(),
};

export function wireTool({ name, description, input, isTerminal }: ToolOffer): WireTool {
  const known = isTerminal ? converted.terminal : converted.working;
  const schema = known.get(input) ?? wireSchema(input, isTerminal);
  known.set(input, schema);
  return { name, description, ...schema };
}

function wireSchema(input: JsonObject, isTerminal: boolean): WireSchema {
  const strict = readStrict(input, isTerminal ? "nullable" : "refused");
  const own = strict.ok ? strict.schema : { ...input, type: "object" };
  const parameters = isTerminal ? own : withReasons(own, Object.keys(propertiesOf(input)));
  return { strict: strict.ok, parameters };
}

const SCALAR: JsonObject = {
  anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }, { type: "null" }],
};

/** Why the call is made and what its result will show: about which entity, and which fields. */
function withReasons(parameters: JsonObject, names: readonly string[]): JsonObject {
  const about = {
    type: "object",
    description: "The entity that the result must be about, in the words of the arguments.",
    properties: Object.fromEntries(names.map((name) => [name, SCALAR])),
    required: [...names],
    additionalProperties: false,
  };
  const field = {
    type: "object",
    properties: {
      pointer: { type: "string", description: "JSON pointer into the result, such as /status." },
      check: { type: "string", enum: ["exists", "equals", "in", "gte", "lte"] },
      value: { ...SCALAR, description: "For equals, gte, lte." },
      values: {
        anyOf: [{ type: "array", items: SCALAR }, { type: "null" }],
        description: "For in.",
      },
    },
    required: ["pointer", "check", "value", "values"],
    additionalProperties: false,
  };
  const expected = {
    type: "object",
    description: "What you will see in the result. Checked against it.",
    properties: {
      about: { anyOf: [about, { type: "null" }] },
      fields: { type: "array", items: field },
      closes: {
        anyOf: [{ type: "string" }, { type: "null" }],
        description: "The id of the open question that this answers.",
      },
    },
    required: ["about", "fields", "closes"],
    additionalProperties: false,
  };
  const own = {
    [REASON_KEY]: { type: "string", description: "Why this call, in one sentence." },
    [EXPECTED_KEY]: expected,
  };
  return {
    ...parameters,
    properties: { ...propertiesOf(parameters), ...own },
    required: [...requiredOf(parameters), REASON_KEY, EXPECTED_KEY],
  };
}

/**
 * Takes arguments as a strict server made them; leaves out each null that stands for a key that
 * was not given. Where null is a value of its own it stays.
 */
export function withoutNulls(args: Json, schema: Json | undefined): Json {
  if (Array.isArray(args)) {
    const items = isJsonObject(schema) ? schema["items"] : undefined;
    return args.map((item) => withoutNulls(item, items));
  }
  if (!isJsonObject(args) || !isJsonObject(schema)) return args;
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]): [string, Json][] => {
      const of = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const isLeftOut =
        value === null && isJsonObject(of) && !required.includes(name) && !isNullable(of);
      return isLeftOut ? [] : [[name, withoutNulls(value, of)]];
    }),
  );
}

/** An expectation as the core has it: keys whose null means "not said" are left out. */
export function expectationOf(wire: Json | undefined): Json {
  if (!isJsonObject(wire)) return wire ?? null;
  const { about, fields, closes, ...rest } = wire;
  const said = isJsonObject(about)
    ? Object.fromEntries(Object.entries(about).filter(([, value]) => value !== null))
    : about;
  const isAbout = said !== null && said !== undefined && !isEmpty(said);
  return {
    ...rest,
    ...(isAbout ? { about: said } : {}),
    ...(fields === undefined
      ? {}
      : { fields: Array.isArray(fields) ? fields.map(fieldOf) : fields }),
    ...(closes === null || closes === undefined || closes === "" ? {} : { closes }),
  };
}

function isEmpty(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** `value: null` beside `equals` is a value; beside any other check it is not said. */
function fieldOf(field: Json): Json {
  if (!isJsonObject(field)) return field;
  const { check } = field;
  return Object.fromEntries(
    Object.entries(field).filter(
      ([name, value]) =>
        value !== null ||
        (name === "value" && check === "equals") ||
        (name !== "value" && name !== "values"),
    ),
  );
}
