/**
 * The Cedar schema of one tool's calls. Arguments are typed by the tool's JSON Schema; facts and
 * attributes of a ticket have none, and what Cedar cannot type has none that helps: these get the
 * type that the policies' use of them asks for.
 */
import type { ToolSpec } from "../core/agent-spec.ts";
import type { CedarAttributes, CedarType } from "./cedar-engine.ts";
import { namesAt, readAt, type Reads } from "./cedar-reads.ts";
import {
  BOOLEAN,
  fieldsOf,
  isOpen,
  LONG,
  optional,
  recordOf,
  STRING,
  type RecordType,
} from "./cedar-json-schema.ts";

/** What the adapter must know of a tool; the effects that only an approval runs are tools too. */
export type CedarTool = Pick<ToolSpec, "name" | "effect" | "input" | "facts">;

type Attribute = readonly [string, CedarAttributes[string]];

/** The context of a call of this tool. Every fact that some tool gives may be there, or not. */
export function contextType(tool: CedarTool, facts: readonly string[], reads: Reads): RecordType {
  const known = knownContext(tool);
  const use = (...path: string[]): CedarType => usedType(path, known, reads);
  const args = [...fieldsOf(tool.input)].map(([name, { type, isRequired }]): Attribute => {
    return [name, { ...(type ?? use("args", name)), required: isRequired }];
  });
  const others = isOpen(tool.input) ? namesAt(reads, "args") : [];
  const ticket = [
    ...Object.entries(TICKET),
    [
      "attributes",
      recordOf(
        optionals(namesAt(reads, "ticket", "attributes"), (name) =>
          use("ticket", "attributes", name),
        ),
      ),
    ] as const,
  ];
  return recordOf([
    ...Object.entries(known.attributes),
    ["args", recordOf([...optionals(others, (name) => use("args", name)), ...args])],
    ["facts", recordOf(optionals(facts, (key) => use("facts", key)))],
    ["ticket", recordOf(ticket)],
  ]);
}

/** The whole schema: who calls what, with this context. */
export function schemaOf(context: RecordType) {
  const appliesTo = { principalTypes: ["Agent"], resourceTypes: ["Tool"], context };
  const shape = recordOf([["effect", STRING]]);
  return { "": { entityTypes: { Agent: {}, Tool: { shape } }, actions: { call: { appliesTo } } } };
}

const TICKET: CedarAttributes = { id: STRING, customerId: optional(STRING) };

/** What has a type before any policy is looked at. */
function knownContext(tool: CedarTool): RecordType {
  const typed = [...fieldsOf(tool.input)].flatMap(([name, { type }]): Attribute[] =>
    type === null ? [] : [[name, type]],
  );
  return recordOf([
    ["args", recordOf(typed)],
    ["ticket", { type: "Record", attributes: TICKET }],
    ["customer", optional(recordOf([["id", STRING]]))],
    ["approved", BOOLEAN],
    [
      "spent",
      recordOf([
        ["steps", LONG],
        ["tokens", LONG],
        ["moneyMicroUsd", LONG],
        ["effectsOfRun", optional(LONG)],
        ["effectsOfCustomer", optional(LONG)],
      ]),
    ],
  ]);
}

function optionals(names: readonly string[], typeOf: (name: string) => CedarType): Attribute[] {
  return names.map((name) => [name, optional(typeOf(name))]);
}

function usedType(path: readonly string[], known: RecordType, reads: Reads): CedarType {
  const at = readAt(reads, path);
  if (at === null) return STRING;
  if (at.children.size > 0) {
    const fields = optionals([...at.children.keys()], (name) =>
      usedType([...path, name], known, reads),
    );
    return recordOf(fields);
  }
  if (at.hint === null) return STRING;
  if ("type" in at.hint) return at.hint;
  const other = readAt(reads, at.hint.like)?.hint;
  return typeAt(known, at.hint.like) ?? (other && "type" in other ? other : STRING);
}

function typeAt(type: CedarType, path: readonly string[]): CedarType | null {
  const [name, ...rest] = path;
  if (name === undefined) return withoutRequired(type);
  if (type.type !== "Record" || !Object.hasOwn(type.attributes, name)) return null;
  const inner = type.attributes[name];
  return inner === undefined ? null : typeAt(inner, rest);
}

function withoutRequired(type: CedarType & { readonly required?: boolean }): CedarType {
  const { required: _required, ...rest } = type;
  return rest;
}
