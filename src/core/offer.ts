/** What the model may call: the agent's working tools and its terminals, with their schemas. */
import { z } from "zod";
import type { AgentSpec, TerminalKind } from "./agent-spec.ts";
import type { JsonObject } from "./json.ts";
import { TERMINAL_SCHEMAS } from "./terminal.ts";

export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  /** A working tool also takes reason and expected beside its arguments. */
  readonly isTerminal: boolean;
}

export interface Offers {
  /** What may be called now. */
  readonly tools: readonly ToolOffer[];
  /** What may be called at some step of the run. */
  readonly allTools: readonly ToolOffer[];
}

/** Servers refuse a request that names a tool otherwise, and a model may have made a name up. */
export const SENDABLE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** On the last step only the terminals. */
export function offersOf(agent: AgentSpec, offer: "all" | "terminals"): Offers {
  const terminals = terminalTools(agent);
  const allTools = [...workingTools(agent), ...terminals];
  return { tools: offer === "all" ? allTools : terminals, allTools };
}

function workingTools(agent: AgentSpec): ToolOffer[] {
  return [...agent.tools.values()].map(({ name, description, input }) => ({
    name,
    description,
    input,
    isTerminal: false,
  }));
}

const TERMINAL_TEXT: Readonly<Record<TerminalKind, string>> = {
  answer:
    "End the run with an answer to the customer. Claims name the facts that the message states.",
  question: "Ask the customer for what only they can know; the run waits for the reply.",
  handoff: "Give the ticket to a person. Say what is known and unknown; no guess.",
  approval: "Ask a person to approve an effect; the run waits for the decision.",
};

/** Compiled once: the JSON Schemas of the built-in terminals never change. */
const TERMINAL_INPUTS = new Map<TerminalKind, JsonObject>(
  Object.entries(TERMINAL_SCHEMAS).map(([kind, schema]) => [
    kind as TerminalKind,
    z.toJSONSchema(schema, { io: "input" }) as JsonObject,
  ]),
);

function terminalTools(agent: AgentSpec): ToolOffer[] {
  return [...agent.terminals].map(([name, kind]) => ({
    name,
    description: TERMINAL_TEXT[kind],
    input: TERMINAL_INPUTS.get(kind) ?? effectInput(agent, name),
    isTerminal: true,
  }));
}

/** An approval takes the arguments of the effect that it asks for. */
function effectInput(agent: AgentSpec, terminal: string): JsonObject {
  const executes = agent.approvals.get(terminal)?.executes;
  const tool = executes === undefined ? undefined : agent.effects.get(executes);
  return tool?.input ?? { type: "object" };
}
