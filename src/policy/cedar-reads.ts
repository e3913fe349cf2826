/**
 * What policies read of the context, as a tree of attribute names, each with the type that its use
 * asks for. It serves twice: only what is read is handed to the engine (a policy cannot fail over a
 * value that it never looks at), and what has no schema of its own (facts, attributes of a ticket)
 * is checked against its use.
 */
import type { CedarType, PolicyJson } from "./cedar-engine.ts";

/** The type that a use asks for; or the path of the context value that it is compared with. */
export type TypeHint = CedarType | { readonly like: readonly string[] };

export interface Reads {
  readonly children: Map<string, Reads>;
  /** The value itself is used, not only whether it is there or a field of it. */
  isWhole: boolean;
  hint: TypeHint | null;
}

/** An expression of Cedar's JSON: one key, the operator. */
export type Node = Readonly<Record<string, unknown>>;

const STRING: CedarType = { type: "String" };
const LONG: CedarType = { type: "Long" };
const BOOLEAN: CedarType = { type: "Boolean" };

export function readsOf(policies: readonly PolicyJson[]): Reads {
  const reads = nothingRead();
  for (const { conditions } of policies) {
    for (const { body } of conditions) walk(reads, body, BOOLEAN);
  }
  return reads;
}

function nothingRead(): Reads {
  return { children: new Map(), isWhole: false, hint: null };
}

/** null: no policy looks at what stands there. */
export function readAt(reads: Reads, path: readonly string[]): Reads | null {
  let at: Reads | undefined = reads;
  for (const name of path) at = at?.children.get(name);
  return at ?? null;
}

/** The names that policies look at below a path. */
export function namesAt(reads: Reads, ...path: string[]): string[] {
  return [...(readAt(reads, path)?.children.keys() ?? [])];
}

function walk(reads: Reads, node: Node, hint: TypeHint | null): void {
  const path = contextPath(node);
  if (path !== null) return use(reads, path, hint);
  const [operator = "", body] = Object.entries(node)[0] ?? [];
  if (operator === "Value" || operator === "Var" || operator === "Slot") return;
  if (operator === "has") return test(reads, body as Node);
  if (operator === "Record") {
    return Object.values(body as Node).forEach((field) => walk(reads, field as Node, null));
  }
  if (Array.isArray(body)) {
    return (body as Node[]).forEach((item) => walk(reads, item, operator === "Set" ? hint : null));
  }
  walkOperands(reads, operator, body as Node);
}

function walkOperands(reads: Reads, operator: string, body: Node): void {
  const operand = (name: string, hint: TypeHint | null): void => {
    if (body[name] !== undefined) walk(reads, body[name] as Node, hint);
  };
  const [left, right] = [typeOf(body["left"]), typeOf(body["right"])];
  switch (operator) {
    case "&&":
    case "||":
    case "!":
      return ["left", "right", "arg"].forEach((name) => operand(name, BOOLEAN));
    case "<":
    case "<=":
    case ">":
    case ">=":
    case "+":
    case "-":
    case "*":
    case "neg":
      return ["left", "right", "arg"].forEach((name) => operand(name, LONG));
    case "like":
      return operand("left", STRING);
    case "==":
    case "!=":
    case "containsAll":
    case "containsAny":
      operand("left", right);
      return operand("right", left);
    case "contains":
      operand("left", right !== null && "type" in right ? { type: "Set", element: right } : null);
      return operand("right", left !== null && "element" in left ? left.element : null);
    case "isEmpty":
      return operand("arg", { type: "Set", element: STRING });
    case "if-then-else":
      operand("if", BOOLEAN);
      operand("then", typeOf(body["else"]));
      return operand("else", typeOf(body["then"]));
    default:
      return ["left", "right", "arg", "in"].forEach((name) => operand(name, null));
  }
}

/** `context.a.b` is ["a", "b"], `context` is []; null where it is no path from the context. */
function contextPath(node: Node): string[] | null {
  if (node["Var"] === "context") return [];
  const access = node["."] as { readonly left: Node; readonly attr: string } | undefined;
  if (access === undefined) return null;
  const above = contextPath(access.left);
  return above === null ? null : [...above, access.attr];
}

function use(reads: Reads, path: readonly string[], hint: TypeHint | null): void {
  const node = descend(reads, path);
  node.isWhole = true;
  // A type says more than a comparison with something that may have none either.
  if (node.hint === null || (hint !== null && "like" in node.hint && "type" in hint)) {
    node.hint = hint;
  }
}

function test(reads: Reads, has: Node): void {
  const attr = has["attr"] as string | readonly string[];
  const path = contextPath(has["left"] as Node);
  if (path === null) return walk(reads, has["left"] as Node, null);
  descend(reads, [...path, ...(typeof attr === "string" ? [attr] : attr)]);
}

function descend(reads: Reads, path: readonly string[]): Reads {
  let at = reads;
  for (const name of path) {
    const next = at.children.get(name) ?? nothingRead();
    at.children.set(name, next);
    at = next;
  }
  return at;
}

/** The type of what stands on the other side; null where it cannot be seen. */
function typeOf(given: unknown): TypeHint | null {
  if (typeof given !== "object" || given === null) return null;
  const node = given as Node;
  const path = contextPath(node);
  if (path !== null) return { like: path };
  const value = node["Value"];
  if (typeof value === "string") return STRING;
  if (typeof value === "number") return LONG;
  if (typeof value === "boolean") return BOOLEAN;
  const set = node["Set"];
  if (!Array.isArray(set)) return ["+", "-", "*", "neg"].some((op) => op in node) ? LONG : null;
  const element = typeOf(set[0]);
  return element !== null && "type" in element ? { type: "Set", element } : null;
}
