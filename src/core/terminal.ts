/**
 * The checks of a terminal call: its arguments, the support of its claims, the postcondition. What
 * comes out is a message that may leave, an answer sent back once, or the stop when once was
 * enough.
 */
import { z } from "zod";
import type { AgentSpec, TerminalKind, ToolSpec } from "./agent-spec.ts";
import { readArguments, readToolArguments } from "./arguments.ts";
import { callKey } from "./call-key.ts";
import { describeTest } from "./condition.ts";
import type { ReplyCall } from "./decision.ts";
import { unreachable } from "./errors.ts";
import type { JsonObject } from "./json.ts";
import { checkMessage, type AnswerReading, type Claim } from "./evidence.ts";
import type { RunState } from "./run-state.ts";
import type { SupportedClaim } from "./fact.ts";
import { stop, type Stop } from "./stop.ts";

const answerSchema = z.strictObject({
  message: z.string().min(1),
  claims: z.array(z.strictObject({ fact: z.string() })).default([]),
});
const questionSchema = z.strictObject({ question: z.string().min(1) });
const handoffSchema = z.strictObject({
  summary: z.string(),
  customerMessage: z.string().min(1).optional(),
});

/** Schema of the arguments of a built-in terminal, for the offer to the model. */
export const TERMINAL_SCHEMAS = {
  answer: answerSchema,
  question: questionSchema,
  handoff: handoffSchema,
} as const;

export type TerminalRuling =
  | { readonly do: "answer"; readonly message: string; readonly claims: readonly SupportedClaim[] }
  | { readonly do: "question"; readonly question: string }
  | {
      readonly do: "handoff";
      readonly summary: string | null;
      readonly customerMessage: string | null;
    }
  | {
      readonly do: "send_back";
      readonly call: ReplyCall;
      readonly code: "claims_unsupported" | "postcondition_unmet";
      readonly unsupported: readonly string[];
    }
  /** A person is asked for this effect, with validated, normalised arguments. */
  | {
      readonly do: "ask_approval";
      readonly call: ReplyCall;
      readonly tool: ToolSpec;
      readonly args: JsonObject;
      readonly key: string;
      readonly expiresMs: number;
    }
  | { readonly do: "stop"; readonly stop: Stop };

type Invalid = { readonly do: "invalid"; readonly message: string };

export function checkTerminal(
  state: RunState,
  call: ReplyCall,
  agent: AgentSpec,
): TerminalRuling | Invalid {
  const kind = agent.terminals.get(call.tool) as TerminalKind;
  const args = readArguments(call.args);
  if (!args.ok) return { do: "invalid", message: args.message };
  switch (kind) {
    case "answer":
      return withArgs(answerSchema, args.args, (a) => checkAnswer(state, call, agent, a));
    case "question":
      return withArgs(questionSchema, args.args, (a) =>
        checkQuestion(state, call, agent, a.question),
      );
    case "handoff":
      return withArgs(handoffSchema, args.args, (a) => checkHandoff(state, agent, a));
    case "approval":
      return checkApproval(state, call, agent);
    default:
      return unreachable(kind, "terminal kind");
  }
}

function withArgs<S extends z.ZodType>(
  schema: S,
  args: unknown,
  go: (args: z.infer<S>) => TerminalRuling | Invalid,
): TerminalRuling | Invalid {
  const parsed = schema.safeParse(args);
  if (parsed.success) return go(parsed.data);
  const issue = parsed.error.issues[0];
  return { do: "invalid", message: `${(issue?.path ?? []).join("/")}: ${issue?.message}` };
}

/** Support first, then the postcondition: an unsupported answer proves nothing about the goal. */
function checkAnswer(
  state: RunState,
  call: ReplyCall,
  agent: AgentSpec,
  args: { message: string; claims: Claim[] },
): TerminalRuling {
  const reading = checkMessage(args.message, args.claims, state, agent);
  if (!reading.ok) return unsupported(state, call, reading.unsupported);
  const open = state.questions.filter((q) => q.condition !== null && q.open);
  if (open.length === 0) return { do: "answer", message: reading.message, claims: reading.claims };
  const texts = open.map((q) => q.text);
  if (state.streaks.postconditionSentBack === 0) {
    return { do: "send_back", call, code: "postcondition_unmet", unsupported: texts };
  }
  const detail = `answered twice with the goal still open: ${texts.join("; ")}`;
  return { do: "stop", stop: stop("handoff", "postcondition_unmet", detail) };
}

/**
 * The arguments are those of the effect; an effect that the run has had is not asked for again.
 */
function checkApproval(
  state: RunState,
  call: ReplyCall,
  agent: AgentSpec,
): TerminalRuling | Invalid {
  const asked = agent.approvals.get(call.tool);
  const tool = asked === undefined ? undefined : agent.effects.get(asked.executes);
  if (asked === undefined || tool === undefined) {
    return { do: "invalid", message: `${call.tool} has nothing to ask for` };
  }
  const args = readToolArguments(tool, call.args);
  if (!args.ok) return { do: "invalid", message: args.message };
  const key = callKey(tool.name, args.args, tool.identity);
  const earlier = state.calls.find((c) => c.key === key);
  if (earlier !== undefined) {
    const detail = `${tool.name} was already carried out in step ${earlier.step}`;
    return { do: "stop", stop: stop("stalled", "repeated_call", detail) };
  }
  return { do: "ask_approval", call, tool, args: args.args, key, expiresMs: asked.expiresMs };
}

/**
 * A question states nothing, but what it does state needs the same support as an answer. Asked and
 * answered, it is not asked again, unless the pack allows it: the reply is what there is.
 */
function checkQuestion(
  state: RunState,
  call: ReplyCall,
  agent: AgentSpec,
  question: string,
): TerminalRuling | Invalid {
  const earlier = state.outward.find(
    ({ kind, text }) => kind === "question" && isSameQuestion(text, question),
  );
  if (earlier !== undefined && !agent.mayAskAgain) {
    const message = `question: it was asked in step ${earlier.step}; go on with the reply, or ask another`;
    return { do: "invalid", message };
  }
  const reading = checkMessage(question, everyFact(state), state, agent);
  if (!reading.ok) return unsupported(state, call, reading.unsupported);
  return { do: "question", question: reading.message };
}

/** Letters and digits count; case, spaces and punctuation do not make it another question. */
function isSameQuestion(a: string, b: string): boolean {
  const bare = (text: string): string =>
    text
      .normalize("NFKC")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
      .trim();
  return bare(a) === bare(b);
}

function unsupported(state: RunState, call: ReplyCall, found: readonly string[]): TerminalRuling {
  if (state.streaks.claimsSentBack === 0) {
    return { do: "send_back", call, code: "claims_unsupported", unsupported: found };
  }
  const detail = `answered twice without support for: ${found.join(", ")}`;
  return { do: "stop", stop: stop("handoff", "claims_unsupported", detail) };
}

/**
 * Guesses have no place in a handoff: such a text is left out, what is known stands in the report.
 */
const GUESS =
  /\b(probabl[ey]|perhaps|maybe|might|likely|possibly|presumably|apparently|seems?|guess|suspect)\b/i;

/** A handoff always goes through: a person must come. Only its free text may be withheld. */
function checkHandoff(
  state: RunState,
  agent: AgentSpec,
  args: { summary: string; customerMessage?: string | undefined },
): TerminalRuling {
  const fit = (text: string): AnswerReading => checkMessage(text, everyFact(state), state, agent);
  const summary = fit(args.summary);
  const message = args.customerMessage === undefined ? null : fit(args.customerMessage);
  return {
    do: "handoff",
    summary: summary.ok && !GUESS.test(args.summary) ? summary.message : null,
    customerMessage: message?.ok === true && !GUESS.test(message.message) ? message.message : null,
  };
}

function everyFact(state: RunState): Claim[] {
  return state.facts.map((fact) => ({ fact: fact.id }));
}

/** The text of a postcondition's question. */
export function postconditionQuestions(agent: AgentSpec) {
  return agent.postcondition.map((condition, i) => ({
    id: `q${i + 1}`,
    text: `${condition.fact} ${describeTest(condition)}`,
    open: !("exists" in condition && !condition.exists),
    condition,
    pointers: [],
    about: {},
    closedBy: null,
  }));
}
