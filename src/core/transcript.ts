/**
 * The plain transcript as a model's context: every decision and every result since the ticket, in
 * order, folded from the journal. It grows with the run; context.ts is the one that does not.
 */
import type { AgentSpec } from "./agent-spec.ts";
import {
  asData,
  escaped,
  instructionsOf,
  type ContextCall,
  type ContextMessage,
  type ModelContext,
} from "./context.ts";
import { cut, wellFormed } from "./cut.ts";
import type { ReplyCall } from "./decision.ts";
import type { Event, EventOf, Happening } from "./event.ts";
import { isJsonObject } from "./json.ts";
import { offersOf, SENDABLE_NAME } from "./offer.ts";
import { NUDGE, SHOWN_RESULT_CHARS, shownResult } from "./reduce-call.ts";
import type { RunState } from "./run-state.ts";

/** A model's turn with the results of its calls, which may come steps later. */
interface Entry {
  readonly message: ContextMessage;
  readonly results: Map<string, string>;
  /** The reply's own items, once its first call is carried out. */
  readonly items: string | undefined;
  wasCalled: boolean;
}

/** Takes the whole journal and the state that it folds to. */
export function buildTranscript(
  events: readonly Event[],
  { state, agent }: { readonly state: RunState; readonly agent: AgentSpec },
  offer: "all" | "terminals",
): ModelContext {
  const entries: Entry[] = [];
  for (const event of events) append(entries, event, agent);
  const open = state.questions.filter((question) => question.open);
  const left = state.limits.steps === null ? null : state.limits.steps - state.spent.steps;
  const view = { openQuestions: open.map(({ id, text }) => ({ id, text })), stepsLeft: left };
  return {
    instructions: instructionsOf(agent),
    messages: [...entries.flatMap(messagesOf), { role: "user", text: asData(view) }],
    ...offersOf(agent, offer),
  };
}

function messagesOf({ message, results, items, wasCalled }: Entry): ContextMessage[] {
  if (message.role !== "assistant") return [message];
  const answers = message.calls.map(({ id }): ContextMessage => ({
    role: "tool",
    callId: id,
    text: results.get(id) ?? '{"status":"not executed"}',
  }));
  if (items === undefined || !wasCalled) return [message, ...answers];
  const calls = message.calls.map((call, i) => (i === 0 ? { ...call, items } : call));
  return [{ ...message, calls }, ...answers];
}

function append(entries: Entry[], event: Event, agent: AgentSpec): void {
  const say = (text: string): void => {
    const message: ContextMessage = { role: "user", text };
    entries.push({ message, results: new Map(), items: undefined, wasCalled: false });
  };
  const answer = (callId: string, text: string): void => {
    const of = entries.findLast(
      ({ message }) =>
        message.role === "assistant" && message.calls.some((call) => call.id === callId),
    );
    of?.results.set(callId, escaped(text));
  };
  switch (event.type) {
    case "accepted": {
      const { id, subject, body, attributes } = event.ticket;
      return say(asData({ ticket: { id, subject, body, attributes } }));
    }
    case "observed":
      return observe(event.happening, say);
    case "decided":
      if (event.source !== "model") return;
      entries.push({
        message: turnOf(event, agent),
        results: new Map(),
        items: event.items,
        wasCalled: false,
      });
      return;
    case "refused":
      return answer(event.callId, asError(event.code, event.message));
    case "sent_back":
      return answer(event.callId, asError(event.code, event.unsupported.join(", ")));
    case "not_executed":
      for (const { id } of event.calls) answer(id, asError("not_executed", event.why));
      return;
    case "nudged":
      return say(NUDGE);
    case "called":
      markCalled(entries, event.callId);
      return answer(event.callId, resultText(event));
    case "verified":
      return appendFacts(entries, event);
    default:
      return;
  }
}

function markCalled(entries: readonly Entry[], callId: string): void {
  for (const entry of entries) {
    const { message } = entry;
    if (message.role === "assistant" && message.calls[0]?.id === callId) entry.wasCalled = true;
  }
}

function observe(happening: Happening, say: (text: string) => void): void {
  if (happening.kind === "user_reply") say(asData({ customerReply: happening.text }));
  if (happening.kind !== "ticket_revision") return;
  const { id, subject, body, attributes } = happening.ticket;
  say(asData({ ticketNow: { id, subject, body, attributes } }));
}

/** A message may claim facts by key only, so the model is told which ones a result gave. */
function appendFacts(entries: Entry[], event: EventOf<"verified">): void {
  if (event.facts.length === 0) return;
  const of = entries.findLast(({ results }) => results.has(event.callId));
  const keys = event.facts.map((fact) => fact.key).join(", ");
  of?.results.set(event.callId, `${of.results.get(event.callId)}\nfacts: ${escaped(keys)}`);
}

function turnOf(event: EventOf<"decided">, agent: AgentSpec): ContextMessage {
  const calls = event.calls.map((call) => callOf(call, agent));
  return { role: "assistant", text: event.text === null ? null : wellFormed(event.text), calls };
}

function callOf({ id, tool, args, reason, expected }: ReplyCall, agent: AgentSpec): ContextCall {
  const isTerminal = agent.terminals.has(tool);
  return {
    id,
    tool: SENDABLE_NAME.test(tool) ? tool : "no_such_tool",
    args: argsText(args),
    reason: isTerminal ? null : wellFormed(reason),
    expected: isTerminal ? null : expected,
  };
}

/** Servers refuse arguments that are no JSON object, so a broken text is shown inside one. */
function argsText(args: ReplyCall["args"]): string {
  if ("json" in args) return JSON.stringify(args.json);
  const text = "text" in args ? args.text : args.notJson;
  try {
    const json: unknown = JSON.parse(text);
    if (isJsonObject(json)) return text;
  } catch {
    // Shown as it was, below.
  }
  return JSON.stringify({ unreadable: cut(text, SHOWN_RESULT_CHARS) });
}

function resultText(event: EventOf<"called">): string {
  const { error } = event;
  return error === undefined ? shownResult(event) : asError(error.code, error.message);
}

function asError(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
