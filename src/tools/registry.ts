/**
 * The tools of one agent, checked when the process starts: a registry that could mislead a reader
 * or the model (a read that writes, a fact without a pointer) does not start, and the message says
 * why.
 */
import type { AgentSpec } from "../core/agent-spec.ts";
import { PawlError } from "../core/errors.ts";
import { templateKeys } from "../core/evidence.ts";
import { isPointer } from "../core/pointer.ts";
import { readStrict } from "../core/strict-schema.ts";
import type { Tool } from "./tool.ts";

const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const READING_NAME = /^(get|read|list|search|find|fetch|lookup|check|count)_/;
/** Both at once: whoever calls it cannot know whether the world changed. */
const AMBIGUOUS_NAME = /get_or_create|find_or_create|read_or_write|upsert_or_get/;

/** Returns the tools by name; throws PAWL_TOOL_INVALID with the path of the first fault. */
export function createRegistry(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const registry = new Map<string, Tool>();
  for (const tool of tools) {
    checkTool(tool);
    if (registry.has(tool.name)) refuse(tool, "name", "is registered twice");
    registry.set(tool.name, tool);
  }
  return registry;
}

function checkTool(tool: Tool): void {
  if (!NAME.test(tool.name)) refuse(tool, "name", "must be lower case snake_case");
  if (AMBIGUOUS_NAME.test(tool.name)) {
    refuse(tool, "name", "reads and writes under one name; make it two tools");
  }
  if (tool.effect === "write" && READING_NAME.test(tool.name)) {
    refuse(tool, "effect", "its name says that it reads, its effect is write");
  }
  if (tool.effect === "read" && (tool.confirm !== null || tool.lookup !== null)) {
    refuse(tool, "confirm", "only a write has an effect to confirm or to look up");
  }
  checkPointers(tool);
  checkStrict(tool);
  if (tool.maxAgeMs !== null && tool.observedAt === null) {
    refuse(tool, "observedAt", "a maximum age needs the pointer to the time of observation");
  }
  for (const field of [...(tool.identity ?? []), ...Object.keys(tool.normalize)]) {
    if (!hasProperty(tool, field)) refuse(tool, `identity/${field}`, "is no field of its input");
  }
}

/** A schema that no server can be held to is found out here, not at the first call of a model. */
function checkStrict(tool: Tool): void {
  const read = tool.strict ? readStrict(tool.input, "refused") : null;
  if (read === null || read.ok) return;
  const help = "use .nullable() in place of .optional(), or say strict: false";
  refuse(tool, `input${read.path}`, `${read.why}: ${help}`);
}

function checkPointers(tool: Tool): void {
  const pointers: [string, string][] = [
    ...Object.entries(tool.facts).map(([key, p]): [string, string] => [`facts/${key}`, p]),
    ...Object.entries(tool.about).map(([key, p]): [string, string] => [`about/${key}`, p]),
    ...(tool.observedAt === null ? [] : [["observedAt", tool.observedAt] as [string, string]]),
    ...(tool.confirm === null
      ? []
      : [["confirm/pointer", tool.confirm.pointer] as [string, string]]),
  ];
  for (const [path, pointer] of pointers) {
    if (!isPointer(pointer)) refuse(tool, path, "is not a JSON pointer (it starts with /)");
  }
}

function hasProperty(tool: Tool, field: string): boolean {
  const properties = tool.input["properties"];
  return typeof properties === "object" && properties !== null && Object.hasOwn(properties, field);
}

function refuse(tool: Tool, path: string, why: string): never {
  throw new PawlError("PAWL_TOOL_INVALID", `tool ${tool.name.slice(0, 80)}: ${path} ${why}`, {
    path: `tools/${tool.name}/${path}`,
  });
}

/** A message that names a fact which nothing gives would never leave, and nobody would know why. */
function checkEffectMessage(agent: AgentSpec, given: ReadonlySet<string>): void {
  const ofEffects = [...agent.effects.values()].flatMap((tool) => Object.keys(tool.facts));
  const known = new Set([...given, ...ofEffects]);
  const unknown = templateKeys(agent.effectMessage ?? "").find((key) => !known.has(key));
  if (unknown === undefined) return;
  const message = `agent ${agent.name}: effectMessage names ${unknown}, which no tool gives`;
  throw new PawlError("PAWL_AGENT_INVALID", message, { path: "effectMessage" });
}

/** Names that no tool of an agent may have, and facts that its rules name but no tool gives. */
export function checkAgentSpec(agent: AgentSpec): void {
  const given = new Set([...agent.tools.values()].flatMap((tool) => Object.keys(tool.facts)));
  const rules = [
    ...agent.postcondition.map((c, i) => ({ path: `postcondition/${i}`, fact: c.fact })),
    ...[...agent.contradictions, ...agent.missingData].flatMap((rule) =>
      rule.when.map((c) => ({ path: `rules/${rule.id}`, fact: c.fact })),
    ),
  ];
  const unknown = rules.find((rule) => !given.has(rule.fact));
  if (unknown !== undefined) {
    const message = `agent ${agent.name}: ${unknown.path} names ${unknown.fact}, which no tool gives`;
    throw new PawlError("PAWL_AGENT_INVALID", message, { path: unknown.path });
  }
  checkEffectMessage(agent, given);
  for (const name of agent.terminals.keys()) {
    if (!agent.tools.has(name)) continue;
    const message = `agent ${agent.name}: ${name} is a terminal tool and a working tool`;
    throw new PawlError("PAWL_AGENT_INVALID", message, { path: `tools/${name}` });
  }
}
