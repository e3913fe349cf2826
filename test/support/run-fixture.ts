/** States, turns, calls and facts for tests of the core; a test replaces the fields it names. */
import type { AgentSpec } from "../../src/core/agent-spec.ts";
import type { ReplyCall } from "../../src/core/decision.ts";
import type { Event, EventOf } from "../../src/core/event.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { replay } from "../../src/core/reduce.ts";
import type { Fact } from "../../src/core/fact.ts";
import type { RunState, Turn } from "../../src/core/run-state.ts";
import { postconditionQuestions } from "../../src/core/terminal.ts";
import { ticketSchema } from "../../src/core/ticket.ts";

/** ms since epoch at which every fixture begins. */
export const AT = 1_750_000_000_000;

export function acceptedEvent(agent: AgentSpec, ticket: Json = { id: "T-1" }): EventOf<"accepted"> {
  return {
    type: "accepted",
    v: 1,
    at: AT,
    step: 1,
    runId: "run-1",
    agent: { name: agent.name, version: agent.version },
    ticket: ticketSchema.parse(ticket),
    limits: agent.limits,
    questions: postconditionQuestions(agent),
  };
}

export function runningState(agent: AgentSpec, changes: Partial<RunState> = {}): RunState {
  const events: Event[] = [acceptedEvent(agent), { type: "started", at: AT, step: 1 }];
  return { ...replay(events), ...changes };
}

export function factOf(key: string, value: Json, changes: Partial<Fact> = {}): Fact {
  const base = { step: 1, callId: "c1", tool: "get_order", pointer: "/value", observedAt: AT };
  return { id: "f1", key, value, ...base, about: {}, partial: false, ...changes };
}

/** A working call with an expectation that names its order, when it has one. */
export function callOf(tool: string, args: Json, changes: Partial<ReplyCall> = {}): ReplyCall {
  const order = (args as JsonObject | null)?.["orderId"];
  const about: JsonObject = order === undefined ? {} : { about: { orderId: order } };
  const expected = { ...about, fields: [{ pointer: "", check: "exists" }] };
  return { id: "c1", tool, args: { json: args }, reason: "to see", expected, ...changes };
}

export function turnOf(calls: readonly ReplyCall[], changes: Partial<Turn> = {}): Turn {
  const base = { source: "model" as const, finish: "tool_calls", text: null, heard: 0 };
  return { ...base, calls: [...calls], permission: null, intended: null, ...changes };
}
