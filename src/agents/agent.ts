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
import { DEFAULT_LIMITS, type GivenLimits, type Limits, type RunState } from "../core/run-state.ts";
import { allowDeclared, type Policy } from "../policy/policy.ts";
import { checkAgentSpec, createRegistry } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";

export interface AgentPack extends AgentSpec {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly effects: ReadonlyMap<string, Tool>;
  readonly policy: Policy;
  /** Asked about every call and never obeyed: a policy on trial (policy/shadow.ts). */
  readonly shadow: Policy | null;
  readonly models: PackModels;
}

/** Models that a pack names beside the configured one. */
export interface PackModels {
  /** Asked at the steps that `isRoutine` says are. */
  readonly routine?: string;
  /** Takes over for the rest of a run whose model gave up. */
  readonly fallback?: string;
}

export interface AgentDefinition {
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly terminals?: readonly string[];
  readonly policy?: Policy;
  readonly shadow?: Policy;
  readonly models?: PackModels;
  /** Approval terminal → the write tool that it executes; expiresMs defaults to a day. */
  readonly approvals?: Readonly<
    Record<string, { readonly executes: string; readonly expiresMs?: number | undefined }>
  >;
  readonly effectMessage?: string;
  readonly mayAskAgain?: boolean;
  readonly replyMs?: number;
  readonly contradictions?: readonly ContradictionRule[];
  readonly missingData?: readonly MissingDataRule[];
  readonly postcondition?: readonly FactCondition[];
  readonly nudges?: number;
  readonly limits?: Partial<Limits>;
  readonly ceiling?: GivenLimits;
  readonly context?: AgentSpec["context"];
  readonly isRoutine?: (state: RunState) => boolean;
  readonly crashBudget?: number;
  readonly queue?: string;
}

/** Checks a definition as a whole; throws PAWL_TOOL_INVALID or PAWL_AGENT_INVALID with the path. */
export function defineAgent(definition: AgentDefinition): AgentPack {
  const all = createRegistry(definition.tools);
  const approvals = approvalsOf(definition, all);
  const executed = new Set([...approvals.values()].map((approval) => approval.executes));
  const tools = new Map([...all].filter(([name]) => !executed.has(name)));
  const agent: AgentPack = {
    name: definition.name,
    version: definition.version,
    instructions: definition.instructions,
    tools,
    effects: new Map([...all].filter(([name]) => executed.has(name))),
    approvals,
    terminals: terminalsOf(definition),
    policy: definition.policy ?? allowDeclared(all.keys()),
    shadow: definition.shadow ?? null,
    models: definition.models ?? {},
    effectMessage: definition.effectMessage ?? null,
    mayAskAgain: definition.mayAskAgain ?? false,
    replyMs: definition.replyMs ?? REPLY_MS,
    contradictions: definition.contradictions ?? [],
    missingData: definition.missingData ?? [],
    postcondition: definition.postcondition ?? [],
    nudges: definition.nudges ?? 0,
    limits: { ...DEFAULT_LIMITS, ...definition.limits },
    ceiling: definition.ceiling ?? {},
    context: definition.context ?? "state",
    isRoutine: definition.isRoutine ?? null,
    crashBudget: definition.crashBudget ?? CRASH_BUDGET,
    queue: definition.queue ?? "support",
  };
  checkAgentSpec(agent);
  return agent;
}

/** Once may be the machine, twice bad luck. */
const CRASH_BUDGET = 3;

/** A day for an operator, three for a customer: over a weekend somebody looks. */
const APPROVAL_MS = 24 * 3_600_000;
const REPLY_MS = 72 * 3_600_000;

function approvalsOf(definition: AgentDefinition, tools: ReadonlyMap<string, Tool>) {
  const given = Object.entries(definition.approvals ?? {});
  return new Map(
    given.map(([terminal, { executes, expiresMs = APPROVAL_MS }]) => {
      const path = `approvals/${terminal}`;
      if (!APPROVAL.test(terminal)) {
        const message = `agent ${definition.name}: ${path} is not named request_…_approval`;
        throw new PawlError("PAWL_AGENT_INVALID", message, { path });
      }
      if (tools.get(executes)?.effect !== "write") {
        const message = `agent ${definition.name}: ${path} executes ${executes}, no write tool`;
        throw new PawlError("PAWL_AGENT_INVALID", message, { path });
      }
      return [terminal, { executes, expiresMs }] as const;
    }),
  );
}

const APPROVAL = /^request_[a-z0-9_]+_approval$/;

function terminalsOf(definition: AgentDefinition) {
  const asked = Object.keys(definition.approvals ?? {});
  const names = definition.terminals ?? [...TERMINAL_KINDS.keys(), ...asked];
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
