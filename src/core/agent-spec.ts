/**
 * What the core must know of an agent and its tools, without anything that can act: schemas,
 * identities, facts, rules, limits. The tools folder adds handlers, the agents folder the packs.
 */
import type { FactCondition } from "./condition.ts";
import type { Json, JsonObject } from "./json.ts";
import type { GivenLimits, Limits, RunState } from "./run-state.ts";

export type Parsed =
  | { readonly ok: true; readonly args: JsonObject }
  | { readonly ok: false; readonly issues: string };

export type Normaliser = "trim" | "upper" | "lower" | "nospace";

export interface ToolSpec {
  readonly name: string;
  readonly effect: "read" | "write";
  readonly description: string;
  /** JSON Schema of the arguments, as the model sees it. */
  readonly input: JsonObject;
  /**
   * Validates and fills defaults; never coerces. `issues` names path, kind and what was expected.
   */
  readonly parse: (args: Json) => Parsed;
  readonly normalize: Readonly<Record<string, readonly Normaliser[]>>;
  /** The fields that make two calls the same; null: all of them. */
  readonly identity: readonly string[] | null;
  /** Fact key → JSON pointer into the result ("" is all of it). */
  readonly facts: Readonly<Record<string, string>>;
  /** Entity name → pointer into the result: which entity the result is about. */
  readonly about: Readonly<Record<string, string>>;
  /** Where the result says when it was observed (ISO 8601 text or ms), and how old it may be. */
  readonly observedAt: string | null;
  readonly maxAgeMs: number | null;
  /** The run cannot go on without it: unavailable after retries is a handoff. */
  readonly required: boolean;
  readonly timeoutMs: number;
  /** Further runs after the first, for transient faults only. */
  readonly retries: number;
  /** How a write's result proves that the effect happened. */
  readonly confirm: { readonly pointer: string; readonly equals: Json } | null;
}

export type TerminalKind = "answer" | "question" | "handoff" | "approval";

export interface ContradictionRule {
  readonly id: string;
  /** All of these at once cannot be true. */
  readonly when: readonly FactCondition[];
}

/** A question that cannot be closed: the tool confirmed that there is no such record. */
export interface MissingDataRule {
  readonly id: string;
  readonly when: readonly FactCondition[];
}

/** What an approval terminal asks a person for. */
export interface ApprovalSpec {
  /** The write tool that runs once a person said yes; the model cannot call it. */
  readonly executes: string;
  readonly expiresMs: number;
}

export interface AgentSpec {
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: ReadonlyMap<string, ToolSpec>;
  readonly terminals: ReadonlyMap<string, TerminalKind>;
  readonly approvals: ReadonlyMap<string, ApprovalSpec>;
  /** The tools that only an approval runs, by name; none of them is offered. */
  readonly effects: ReadonlyMap<string, ToolSpec>;
  /**
   * Sent to the customer once an approved effect is confirmed; `{{KEY}}` is a fact. Null: nothing.
   */
  readonly effectMessage: string | null;
  /** The customer may be asked the same question twice in a run. */
  readonly mayAskAgain: boolean;
  /** How long a question to the customer stays open, in ms. */
  readonly replyMs: number;
  readonly contradictions: readonly ContradictionRule[];
  readonly missingData: readonly MissingDataRule[];
  /** Every entry must hold for `completed`; each opens a question q1, q2, … */
  readonly postcondition: readonly FactCondition[];
  /** How often text without a call is answered with a nudge instead of a stop. */
  readonly nudges: number;
  readonly limits: Limits;
  /** What a tenant or a run may set in place of `limits` at most; a name left out is free. */
  readonly ceiling: GivenLimits;
  /** state: bounded, built from RunState. transcript: every turn so far, which grows. */
  readonly context: "state" | "transcript";
  /**
   * Says of the state before a decision whether the cheaper model will do; null: always the main
   * one. Pure.
   */
  readonly isRoutine: ((state: RunState) => boolean) | null;
  /** So many workers may die in one step; then its run ends as `failed/crash_loop`. */
  readonly crashBudget: number;
  /** Where a handoff goes. */
  readonly queue: string;
}

/** The name → kind of the built-in terminals; `request_*_approval` are declared by the agent. */
export const TERMINAL_KINDS: ReadonlyMap<string, TerminalKind> = new Map<string, TerminalKind>([
  ["answer_user", "answer"],
  ["ask_clarification", "question"],
  ["request_handoff", "handoff"],
]);

const NORMALISERS: Readonly<Record<Normaliser, (text: string) => string>> = {
  trim: (text) => text.trim(),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  nospace: (text) => text.replaceAll(/\s+/gu, ""),
};

/** Applies a field's normalisers in the order written; only texts change. */
export function normalise(value: Json, steps: readonly Normaliser[]): Json {
  if (typeof value !== "string") return value;
  return steps.reduce((text, step) => NORMALISERS[step](text), value);
}

export function normaliseArgs(tool: ToolSpec, args: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      normalise(value, Object.hasOwn(tool.normalize, name) ? (tool.normalize[name] ?? []) : []),
    ]),
  );
}
