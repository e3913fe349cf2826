/**
 * From a journaled decision to what this step does with it: act, answer, refuse or stop. The
 * checks run in one order, all before any handler: finish → shape → tool → arguments → expectation
 * → repeat → last step. Policy comes after, outside the core. Pure: the same decision gives the
 * same ruling.
 */
import type { AgentSpec, ToolSpec } from "./agent-spec.ts";
import { readToolArguments } from "./arguments.ts";
import { exhausted, isLastStep } from "./budget.ts";
import { callKey } from "./call-key.ts";
import {
  expectationSchema,
  NORMAL_FINISHES,
  REFUSAL_FINISHES,
  type Expectation,
  type ReplyCall,
} from "./decision.ts";
import type { JsonObject } from "./json.ts";
import { isPointer } from "./pointer.ts";
import type { CallRecord, RunState, Turn } from "./run-state.ts";
import { stop, type Stop } from "./stop.ts";
import { checkTerminal, type TerminalRuling } from "./terminal.ts";

/** A call that passed every check: what act, record and verify need. */
export interface PreparedCall {
  readonly id: string;
  readonly tool: ToolSpec;
  readonly args: JsonObject;
  readonly key: string;
  readonly reason: string;
  readonly expected: Expectation;
}

export type Refusal = "unknown_tool" | "invalid_arguments" | "expectation_missing";

export type Ruling =
  | { readonly do: "act"; readonly call: PreparedCall }
  | {
      readonly do: "refuse";
      readonly call: ReplyCall;
      readonly code: Refusal;
      readonly terminal: boolean;
      readonly message: string;
    }
  | { readonly do: "nudge" }
  | { readonly do: "stale"; readonly call: ReplyCall }
  | { readonly do: "stop"; readonly stop: Stop; readonly earlierStep?: number }
  | TerminalRuling;

/** Takes a running state whose turn is journaled; `now` in ms decides only the last-step stop. */
export function check(state: RunState, turn: Turn, agent: AgentSpec, now: number): Ruling {
  const unusual = checkFinish(turn) ?? checkShape(turn, agent, state);
  if (unusual !== null) return unusual;
  const call = turn.calls[0] as ReplyCall;
  return agent.terminals.has(call.tool)
    ? checkEnd(state, turn, call, agent)
    : checkWork(state, call, agent, now);
}

/** A cut or filtered reply is never executed and never repaired. */
function checkFinish(turn: Turn): Ruling | null {
  if (NORMAL_FINISHES.includes(turn.finish)) return null;
  if (REFUSAL_FINISHES.includes(turn.finish)) {
    return stopped(stop("handoff", "model_refused", "the model refused or was filtered"));
  }
  const detail = `the reply ended with "${turn.finish.slice(0, 40)}"`;
  return stopped(stop("blocked", "truncated_reply", detail));
}

function checkShape(turn: Turn, agent: AgentSpec, state: RunState): Ruling | null {
  if (turn.calls.length === 0) {
    if (state.streaks.nudges < agent.nudges) return { do: "nudge" };
    return stopped(stop("blocked", "terminal_tool_missing", "the reply called no tool"));
  }
  const terminals = turn.calls.filter((call) => agent.terminals.has(call.tool));
  if (terminals.length > 0 && turn.calls.length > 1) {
    const names = turn.calls.map((call) => call.tool.slice(0, 60)).join(", ");
    const detail = `a terminal tool stood beside another call: ${names}`;
    return stopped(stop("blocked", "ambiguous_terminal_calls", detail));
  }
  return null;
}

function checkEnd(state: RunState, turn: Turn, call: ReplyCall, agent: AgentSpec): Ruling {
  // The customer wrote while the model thought: this message answers an older conversation.
  if (turn.heard < state.heard) return { do: "stale", call };
  const ruling = checkTerminal(state, call, agent);
  if (ruling.do !== "invalid") return ruling;
  if (isLimitReached(state.streaks.invalidTerminals, state.limits.refusedInARow)) {
    const detail = `the arguments of ${call.tool} were invalid again: ${ruling.message}`;
    return stopped(stop("blocked", "invalid_decision", detail));
  }
  const { message } = ruling;
  return { do: "refuse", call, code: "invalid_arguments", terminal: true, message };
}

function checkWork(state: RunState, call: ReplyCall, agent: AgentSpec, now: number): Ruling {
  const tool = agent.tools.get(call.tool);
  if (tool === undefined) {
    const known = [...agent.tools.keys(), ...agent.terminals.keys()].join(", ");
    return refuse(state, call, "unknown_tool", `there is no such tool; the tools are: ${known}`);
  }
  const reading = readToolArguments(tool, call.args);
  if (!reading.ok) return refuse(state, call, "invalid_arguments", reading.message);
  const expected = readExpectation(call, tool);
  if (typeof expected === "string") return refuse(state, call, "expectation_missing", expected);
  const key = callKey(tool.name, reading.args, tool.identity);
  const earlier = findRepeat(state, tool, key, call.id);
  if (earlier !== null) {
    const detail = `${tool.name} was already called in step ${earlier.step}, and nothing is new since`;
    return { ...stopped(stop("stalled", "repeated_call", detail)), earlierStep: earlier.step };
  }
  if (isLastStep(state)) {
    const over =
      exhausted(state, now) ?? stop("budget_exhausted", "max_steps_exceeded", "last step");
    return stopped(over);
  }
  return {
    do: "act",
    call: { id: call.id, tool, args: reading.args, key, reason: call.reason, expected },
  };
}

/** The third refusal in a row (of whatever kind, failed tools included) ends the run. */
function refuse(state: RunState, call: ReplyCall, code: Refusal, message: string): Ruling {
  if (isLimitReached(state.streaks.refused, state.limits.refusedInARow)) {
    const count = state.streaks.refused + 1;
    return stopped(
      stop("blocked", "invalid_decision", `${count} refused in a row; the last: ${code}`),
    );
  }
  return { do: "refuse", call, code, terminal: false, message };
}

/** One more would be the N-th; null is unlimited. */
function isLimitReached(soFar: number, limit: number | null): boolean {
  return limit !== null && soFar + 1 >= limit;
}

/** A tool that failed for the N-th time in a row of refusals and failures: the same bound. */
export function failedTooOften(state: RunState): Stop | null {
  const { refusedInARow } = state.limits;
  if (refusedInARow === null || state.streaks.refused < Math.max(1, refusedInARow)) return null;
  const detail = `${state.streaks.refused} refused decisions and failed tools in a row`;
  return stop("blocked", "invalid_decision", detail);
}

function readExpectation(call: ReplyCall, tool: ToolSpec): Expectation | string {
  if (call.expected === null) return "say what you expect to see: about which entity, which fields";
  const parsed = expectationSchema.safeParse(call.expected);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return `expected/${(issue?.path ?? []).join("/")}: ${issue?.message}`;
  }
  const strange = parsed.data.fields.find((field) => !isPointer(field.pointer));
  if (strange !== undefined) return "expected/fields: a pointer is empty or begins with /";
  const about = parsed.data.about ?? {};
  const names = Object.keys(tool.about);
  const unnamed = names.filter((name) => !Object.hasOwn(about, name));
  if (names.length > 0 && unnamed.length === names.length) {
    return `expected/about must name the entity: ${names.join(", ")}`;
  }
  return parsed.data;
}

/**
 * A write is never executed twice in a run. A read may be repeated only on new grounds: a user
 * reply, an approval decision, a ticket revision or a confirmed effect after the earlier call.
 */
function findRepeat(state: RunState, tool: ToolSpec, key: string, id: string): CallRecord | null {
  const earlier = state.calls.findLast((call) => call.key === key && call.id !== id);
  if (earlier === undefined) return null;
  return tool.effect === "write" || earlier.grounds >= state.grounds ? earlier : null;
}

function stopped(found: Stop): { readonly do: "stop"; readonly stop: Stop } {
  return { do: "stop", stop: found };
}
