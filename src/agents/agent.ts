/**
 * The contract of an agent pack: one domain with its instructions, tools, policy and rules. A new
 * domain is one folder beside this file and one line in app/wire.ts.
 */
import {
  TERMINAL_KINDS,
  type AgentSpec,
  type ContradictionRule,
  type MissingDataRule,
} from "../core/agent-spec.ts";
import type { FactCondition } from "../core/condition.ts";
import { PawlError } from "../core/errors.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/run-state.ts";
import { allowDeclared, type Policy } from "../policy/policy.ts";
import { checkAgentSpec, createRegistry } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";

export interface AgentPack extends AgentSpec {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: Policy;
}

export interface AgentDefinition {
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly terminals?: readonly string[];
  readonly policy?: Policy;
  readonly contradictions?: readonly ContradictionRule[];
  readonly missingData?: readonly MissingDataRule[];
  readonly postcondition?: readonly FactCondition[];
  readonly nudges?: number;
  readonly limits?: Partial<Limits>;
  readonly queue?: string;
}

/** Checks a definition as a whole; throws PAWL_TOOL_INVALID or PAWL_AGENT_INVALID with the path. */
export function defineAgent(definition: AgentDefinition): AgentPack {
  const tools = createRegistry(definition.tools);
  const agent: AgentPack = {
    name: definition.name,
    version: definition.version,
    instructions: definition.instructions,
    tools,
    terminals: terminalsOf(definition),
    policy: definition.policy ?? allowDeclared(tools.keys()),
    contradictions: definition.contradictions ?? [],
    missingData: definition.missingData ?? [],
    postcondition: definition.postcondition ?? [],
    nudges: definition.nudges ?? 0,
    limits: { ...DEFAULT_LIMITS, ...definition.limits },
    queue: definition.queue ?? "support",
  };
  checkAgentSpec(agent);
  return agent;
}

const APPROVAL = /^request_[a-z0-9_]+_approval$/;

function terminalsOf(definition: AgentDefinition) {
  const names = definition.terminals ?? [...TERMINAL_KINDS.keys()];
  return new Map(
    names.map((name) => {
      const kind = TERMINAL_KINDS.get(name) ?? (APPROVAL.test(name) ? "approval" : undefined);
      if (kind !== undefined) return [name, kind] as const;
      throw new PawlError("PAWL_AGENT_INVALID", `agent ${definition.name}: no terminal ${name}`, {
        path: `terminals/${name}`,
      });
    }),
  );
}
