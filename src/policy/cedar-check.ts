/**
 * Whether every policy fits every tool that it can apply to, checked when the process starts. Cedar
 * has one type for all tools, so a policy is checked once per tool, with `resource` put in as that
 * tool: `resource == Tool::"x" && context.args.y` then asks only x for its y.
 */
import { TERMINAL_KINDS } from "../core/agent-spec.ts";
import type { Cedar, CedarFault, PolicyJson } from "./cedar-engine.ts";
import { namesAt, type Node, type Reads } from "./cedar-reads.ts";
import { contextType, schemaOf, type CedarTool } from "./cedar-schema.ts";
import { fieldsOf, isOpen, type RecordType } from "./cedar-json-schema.ts";
import { faultIn, invalid, type CedarRule } from "./cedar-text.ts";

export interface PolicyText {
  readonly text: string;
  readonly rules: readonly CedarRule[];
  readonly reads: Reads;
}

/**
 * Throws PAWL_POLICY_INVALID with the position of the first fault. Returns warnings: places where a
 * policy reads what may be missing, and the call is then denied.
 */
export function checkPolicies(
  cedar: Cedar,
  policies: PolicyText,
  tools: readonly CedarTool[],
): string[] {
  const facts = [...new Set(tools.flatMap((tool) => Object.keys(tool.facts)))];
  const warnings = checkNames(policies, tools, facts);
  for (const tool of tools) {
    const rules = policies.rules.filter(({ json }) => appliesTo(json, tool.name));
    const context = contextType(tool, facts, policies.reads);
    const faults = faultsOf(cedar, rules, tool, context);
    const error = faults.find((found) => !isMaybeMissing(found));
    if (error !== undefined) throw located(cedar, policies.text, error);
    warnings.push(...faults.map(tellMissing));
  }
  return [...new Set(warnings)];
}

/**
 * The names that Cedar would take in silence: an entity is any text, and `has` asks for anything.
 */
function checkNames(
  { text, rules, reads }: PolicyText,
  tools: readonly CedarTool[],
  facts: readonly string[],
): string[] {
  const names = new Set(tools.map((tool) => tool.name));
  const warnings: string[] = [];
  for (const rule of rules) {
    for (const name of toolsNamed(rule.json)) {
      if (names.has(name)) continue;
      const what = `${rule.id}: Tool::"${name}" is no tool of this agent`;
      if (!isTerminal(name)) {
        throw invalid(`${what}; the tools are ${[...names].join(", ")}`, text, rule.start);
      }
      warnings.push(`${what} but a terminal, which no policy is asked about`);
    }
  }
  const args = new Set(tools.flatMap((tool) => [...fieldsOf(tool.input).keys()]));
  const hasOpen = tools.some((tool) => isOpen(tool.input));
  const unknown = [
    ...namesAt(reads)
      .filter((name) => !SECTIONS.has(name))
      .map(tellSection),
    ...namesAt(reads, "facts")
      .filter((name) => !facts.includes(name))
      .map((name) => tellFact(name, facts)),
    ...namesAt(reads, "args")
      .filter((name) => !hasOpen && !args.has(name))
      .map((name) => ({ name, what: `no tool takes the argument ${name}` })),
  ];
  const [first] = unknown;
  if (first === undefined) return warnings;
  throw invalid(first.what, text, Math.max(text.indexOf(first.name), 0));
}

function tellFact(name: string, facts: readonly string[]) {
  const whole = facts.find((fact) => fact.startsWith(`${name}.`));
  const hint = whole === undefined ? "" : `; did you mean context.facts["${whole}"]`;
  return { name, what: `no tool gives the fact ${name}${hint}` };
}

function tellSection(name: string) {
  return { name, what: `context has no ${name}; it has ${[...SECTIONS].join(", ")}` };
}

const SECTIONS = new Set(["args", "facts", "ticket", "customer", "approved", "spent"]);

function isTerminal(name: string): boolean {
  return TERMINAL_KINDS.has(name) || /^request_[a-z0-9_]+_approval$/.test(name);
}

function toolsNamed(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { type, id } = part as { readonly type?: unknown; readonly id?: unknown };
  if (type === "Tool" && typeof id === "string") return [id];
  return Object.values(part).flatMap(toolsNamed);
}

/** By the scope alone. */
function appliesTo({ resource }: PolicyJson, tool: string): boolean {
  const scope = resource as { readonly entity?: unknown; readonly in?: unknown };
  const named = toolsNamed([scope.entity, scope.in]);
  return named.length === 0 || named.includes(tool);
}

interface Found {
  readonly rule: CedarRule;
  readonly tool: CedarTool;
  readonly fault: CedarFault;
  readonly context: RecordType;
}

function faultsOf(
  cedar: Cedar,
  rules: readonly CedarRule[],
  tool: CedarTool,
  context: RecordType,
): Found[] {
  const policies = rules.map((rule) => forTool(rule.json, tool));
  return validate(cedar, policies, context).flatMap(({ index, fault }): Found[] => {
    const rule = rules[index];
    return rule === undefined ? [] : [{ rule, tool, fault, context }];
  });
}

/** The faults, each with the place of its policy in the list; in the list's order. */
function validate(cedar: Cedar, policies: readonly (PolicyJson | string)[], context: RecordType) {
  const schema = schemaOf(context) as Parameters<Cedar["validate"]>[0]["schema"];
  const staticPolicies = Object.fromEntries(policies.map((policy, i) => [`${i}`, policy]));
  const answer = cedar.validate({ schema, policies: { staticPolicies } });
  if (answer.type === "failure") throw new Error(answer.errors[0]?.message ?? "not a policy set");
  const faults = answer.validationErrors.map(({ policyId, error }) => ({
    index: Number(policyId),
    fault: {
      ...error,
      message: withoutName(error.message, policyId),
      help: error.help === null ? null : withoutName(error.help, policyId),
    },
  }));
  return faults.toSorted((a, b) => a.index - b.index);
}

function withoutName(message: string, policyId: string): string {
  return message.replace(`for policy \`${policyId}\`, `, "");
}

function isMaybeMissing({ fault }: Found): boolean {
  return fault.message.startsWith("unable to guarantee safety of access to optional attribute");
}

function tellMissing({ rule, fault }: Found): string {
  const name = /attribute `(.+?)` in/.exec(fault.message)?.[1] ?? "an attribute";
  return `${rule.id}: ${name} may be missing: without \`has\` the call is then denied`;
}

/** The engine gives positions for text only: the same fault is looked for in the policy's own. */
function located(cedar: Cedar, text: string, { rule, tool, fault, context }: Found): Error {
  const found = validate(cedar, [rule.text], context).map(({ fault: inText }) => inText);
  const inText = found.find((other) => other.message === fault.message);
  const message = `${rule.id}, for the tool ${tool.name}: ${fault.message}`;
  return faultIn(text, rule.start, { ...fault, ...inText, message });
}

function forTool(policy: PolicyJson, tool: CedarTool): PolicyJson {
  const conditions = policy.conditions.map((condition) => {
    return { ...condition, body: putIn(condition.body, tool) };
  });
  return { ...policy, conditions } as PolicyJson;
}

/**
 * The expression with the tool in place of `resource`. Cedar folds `==` itself, the rest is here.
 */
function putIn(node: Node, tool: CedarTool): Node {
  if (node["Var"] === "resource") return { Value: { __entity: { type: "Tool", id: tool.name } } };
  const access = node["."] as { readonly left: Node; readonly attr: string } | undefined;
  if (access?.left["Var"] === "resource" && access.attr === "effect") return { Value: tool.effect };
  const [operator = "", body] = Object.entries(node)[0] ?? [];
  if (operator === "Value" || typeof body !== "object" || body === null) return node;
  const inner = Object.entries(body).map(([name, part]): [string, unknown] => {
    // Beside its operands an operator has plain parts: a name, a pattern, a path of names.
    const isOperand = typeof part === "object" && part !== null && !Array.isArray(part);
    return [name, isOperand ? putIn(part as Node, tool) : part];
  });
  const changed = Array.isArray(body) ? inner.map(([, part]) => part) : Object.fromEntries(inner);
  return foldMembership(operator, changed as Node) ?? { [operator]: changed };
}

/** `resource in [Tool::"a", Tool::"b"]`, `["read"].contains(resource.effect)`: known here. */
function foldMembership(operator: string, body: Node): Node | null {
  if (operator !== "in" && operator !== "contains") return null;
  const sides = [body["left"], body["right"]] as Node[];
  const [item, group] = operator === "in" ? sides : sides.toReversed();
  const members = (group?.["Set"] ?? [group]) as Node[];
  if (item === undefined || ![item, ...members].every((node) => node && "Value" in node))
    return null;
  const isMember = members.some((m) => JSON.stringify(m) === JSON.stringify(item));
  return { Value: isMember };
}
