/**
 * (state, event) → state, the only writer of RunState; replay is its fold. No clock, no ids, no
 * randomness: what it needs stands in the event. One function an event, dispatched at the end.
 */
import { passes } from "./condition.ts";
import { PawlError, unreachable } from "./errors.ts";
import type { Event, EventOf, Happening } from "./event.ts";
import { jsonEqual } from "./json.ts";
import { isTerminal, transition } from "./stop.ts";
import {
  newestFact,
  STATE_VERSION,
  type CallRecord,
  type Fact,
  type Question,
  type RunState,
} from "./run-state.ts";

/** Bounds of what the state keeps for the model's eyes; everything whole is in the journal. */
const RECENT_RESULTS = 3;
const SHOWN_RESULT_CHARS = 2_000;
const SHOWN_ARGS_CHARS = 300;
const FEEDBACK_KEPT = 6;
const SEEN_KEPT = 200;

/** Cuts by code point, so that no half of a surrogate pair is left, and says that it cut. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(maxChars - 1)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}… [cut: ${text.length - end} more characters]`;
}

/** The state before its first event is null; any other first event is unreadable. */
export function reduce(state: RunState | null, event: Event): RunState {
  if (event.type === "accepted" && state === null) return accepted(event);
  if (event.type === "accepted") {
    throw new PawlError("PAWL_EVENT_UNREADABLE", "a journal accepts its run once");
  }
  if (state === null) {
    throw new PawlError("PAWL_EVENT_UNREADABLE", `a journal cannot begin with ${event.type}`);
  }
  if (isTerminal(state.status)) {
    throw new PawlError("PAWL_EVENT_UNREADABLE", `${event.type} after the run ended`);
  }
  return apply(state, event);
}

export function replay(events: readonly Event[]): RunState {
  const state = events.reduce<RunState | null>(reduce, null);
  if (state === null) throw new PawlError("PAWL_EVENT_UNREADABLE", "the journal is empty");
  return state;
}

function apply(state: RunState, event: Exclude<Event, EventOf<"accepted">>): RunState {
  switch (event.type) {
    case "started":
      return started(state, event);
    case "observed":
      return observed(state, event.happening, event);
    case "resumed":
      return { ...state, resumes: state.resumes + 1 };
    case "reserved":
      return reserved(state, event);
    case "decided":
      return decided(state, event);
    case "refused":
      return refused(state, event);
    case "nudged":
      return nudged(state, event);
    case "sent_back":
      return sentBack(state, event);
    case "not_executed":
      return { ...state, kept: [] };
    case "permitted":
      return {
        ...state,
        turn: state.turn === null ? null : { ...state.turn, permission: event.permission },
      };
    case "intended":
      return intended(state, event);
    case "called":
      return called(state, event);
    case "verified":
      return verified(state, event);
    case "contradicted":
      return { ...state, contradictions: [...state.contradictions, event.evidence] };
    case "sent":
      return { ...state, outward: [...state.outward, event.message] };
    case "parked":
      return {
        ...state,
        status: transition(state.status, "waiting"),
        waiting: { for: event.for, since: event.at, until: event.until },
      };
    case "step_ended":
      return stepEnded(state);
    case "ended":
      return ended(state, event);
    default:
      return unreachable(event, "event");
  }
}

function accepted(event: EventOf<"accepted">): RunState {
  return {
    v: STATE_VERSION,
    id: event.runId,
    agent: event.agent,
    ticket: event.ticket,
    replies: [],
    status: "queued",
    reason: null,
    waiting: null,
    step: 1,
    limits: event.limits,
    spent: { steps: 0, tokens: 0, moneyMicroUsd: 0 },
    reserved: null,
    paidButLost: 0,
    clock: { startedAt: event.at, parkedMs: 0 },
    createdAt: event.at,
    endedAt: null,
    resumes: 0,
    grounds: 0,
    heard: 0,
    cancelled: null,
    humanTookOver: false,
    calls: [],
    facts: [],
    questions: event.questions,
    contradictions: [],
    kept: [],
    turn: null,
    nextCall: 1,
    modelTurns: 0,
    streaks: {
      noProgress: 0,
      refused: 0,
      invalidTerminals: 0,
      nudges: 0,
      claimsSentBack: 0,
      postconditionSentBack: 0,
    },
    feedback: [],
    recent: [],
    outward: [],
    outcome: null,
    seen: [],
  };
}

/** The clock of running time starts with the first step, not with the time spent in the queue. */
function started(state: RunState, event: EventOf<"started">): RunState {
  return {
    ...state,
    status: transition(state.status, "running"),
    clock: { ...state.clock, startedAt: event.at },
  };
}

function observed(before: RunState, happening: Happening, event: EventOf<"observed">): RunState {
  const state = { ...before, seen: [...before.seen, happening.id].slice(-SEEN_KEPT) };
  switch (happening.kind) {
    case "user_reply":
      return {
        ...unparked(state, "user_reply", event.at),
        replies: [...state.replies, { step: event.step, text: happening.text }],
        grounds: state.grounds + 1,
        heard: state.heard + 1,
      };
    case "ticket_revision":
      if (happening.ticket.revision <= state.ticket.revision) return state;
      return {
        ...unparked(state, "user_reply", event.at),
        ticket: happening.ticket,
        grounds: state.grounds + 1,
        heard: state.heard + 1,
      };
    case "human_reply":
      return { ...unparked(state, null, event.at), humanTookOver: true, heard: state.heard + 1 };
    case "cancel":
      return { ...unparked(state, null, event.at), cancelled: happening.why };
    default:
      return unreachable(happening, "happening");
  }
}

/** Ends a wait that this happening answers (null: any wait); other waits go on. */
function unparked(state: RunState, answers: string | null, at: number): RunState {
  if (state.waiting === null) return state;
  if (answers !== null && state.waiting.for !== answers) return state;
  return {
    ...state,
    status: transition(state.status, "running"),
    waiting: null,
    clock: { ...state.clock, parkedMs: state.clock.parkedMs + (at - state.waiting.since) },
  };
}

/** A reservation that stands when a new one is made was never settled: its reply was lost. */
function reserved(before: RunState, event: EventOf<"reserved">): RunState {
  const { tokens, moneyMicroUsd } = event;
  return { ...lostReservation(before), reserved: { tokens, moneyMicroUsd } };
}

function lostReservation(state: RunState): RunState {
  if (state.reserved === null) return state;
  return {
    ...state,
    reserved: null,
    paidButLost: state.paidButLost + 1,
    spent: {
      ...state.spent,
      tokens: state.spent.tokens + state.reserved.tokens,
      moneyMicroUsd: state.spent.moneyMicroUsd + state.reserved.moneyMicroUsd,
    },
  };
}

function decided(state: RunState, event: EventOf<"decided">): RunState {
  const isModel = event.source === "model";
  const tokens =
    event.usage === null
      ? isModel
        ? (state.reserved?.tokens ?? 0)
        : 0
      : event.usage.input + event.usage.output;
  return {
    ...state,
    spent: {
      steps: state.spent.steps + 1,
      tokens: state.spent.tokens + tokens,
      moneyMicroUsd: state.spent.moneyMicroUsd + event.moneyMicroUsd,
    },
    reserved: isModel ? null : state.reserved,
    kept: isModel ? state.kept : state.kept.slice(1),
    nextCall: isModel ? state.nextCall + event.calls.length : state.nextCall,
    modelTurns: isModel ? state.modelTurns + 1 : state.modelTurns,
    turn: {
      source: event.source,
      finish: event.finish,
      text: event.text,
      calls: event.calls,
      heard: state.heard,
      permission: null,
      intended: null,
    },
  };
}

function refused(state: RunState, event: EventOf<"refused">): RunState {
  const streaks = event.terminal
    ? { ...state.streaks, refused: 0, invalidTerminals: state.streaks.invalidTerminals + 1 }
    : { ...state.streaks, refused: state.streaks.refused + 1 };
  return {
    ...withFeedback(state, event.step, event.code, event.tool, event.message),
    streaks,
  };
}

function nudged(state: RunState, event: EventOf<"nudged">): RunState {
  const message = "Text alone does nothing. Call one tool, or one terminal tool to end.";
  return {
    ...withFeedback(state, event.step, "terminal_tool_missing", null, message),
    streaks: { ...state.streaks, nudges: state.streaks.nudges + 1 },
  };
}

function sentBack(state: RunState, event: EventOf<"sent_back">): RunState {
  const isClaims = event.code === "claims_unsupported";
  const message = isClaims
    ? `Not sent. Without support from a fact that you claim: ${event.unsupported.join(", ")}`
    : `Not sent. Still open: ${event.unsupported.join(", ")}`;
  return {
    ...withFeedback(state, event.step, event.code, null, message),
    streaks: {
      ...state.streaks,
      refused: 0,
      claimsSentBack: state.streaks.claimsSentBack + (isClaims ? 1 : 0),
      postconditionSentBack: state.streaks.postconditionSentBack + (isClaims ? 0 : 1),
    },
  };
}

function withFeedback(
  state: RunState,
  step: number,
  code: string,
  tool: string | null,
  message: string,
): RunState {
  return {
    ...state,
    feedback: [...state.feedback, { step, code, tool, message }].slice(-FEEDBACK_KEPT),
  };
}

function intended(state: RunState, event: EventOf<"intended">): RunState {
  if (state.turn === null) return state;
  const { callId, idempotencyKey } = event;
  return {
    ...withCall(state, {
      id: callId,
      step: event.step,
      tool: event.tool,
      key: event.key,
      effect: "write",
      shownArgs: cut(JSON.stringify(event.args), SHOWN_ARGS_CHARS),
      outcome: "intended",
      grounds: state.grounds,
    }),
    turn: { ...state.turn, intended: { callId, idempotencyKey } },
  };
}

function withCall(state: RunState, call: CallRecord): RunState {
  return { ...state, calls: [...state.calls.filter((c) => c.id !== call.id), call] };
}

function called(before: RunState, event: EventOf<"called">): RunState {
  const state = withCall(before, {
    id: event.callId,
    step: event.step,
    tool: event.tool,
    key: event.key,
    effect: event.effect,
    shownArgs: cut(JSON.stringify(event.args), SHOWN_ARGS_CHARS),
    outcome: event.outcome,
    grounds: before.grounds,
  });
  if (event.outcome !== "succeeded") {
    const { code, message } = event.error ?? { code: "tool_execution_failed", message: "" };
    return {
      ...withFeedback(state, event.step, code, event.tool, message),
      streaks: { ...state.streaks, refused: state.streaks.refused + 1 },
    };
  }
  const text =
    event.ref === undefined
      ? cut(JSON.stringify(event.result), SHOWN_RESULT_CHARS)
      : `${event.ref.preview}… [cut: ${event.ref.bytes} bytes in all]`;
  const shown = { callId: event.callId, tool: event.tool, text };
  return {
    ...state,
    recent: [...state.recent, shown].slice(-RECENT_RESULTS),
    streaks: { ...state.streaks, refused: 0, invalidTerminals: 0 },
  };
}

/** Facts, questions and progress move together: progress is a new or changed fact or a closed question. */
function verified(state: RunState, event: EventOf<"verified">): RunState {
  const fresh = event.facts.filter((fact) => isNews(state, fact));
  const facts = [...state.facts, ...fresh];
  const asked = event.question === null ? [] : [event.question];
  const questions = [
    ...state.questions.map((q) => settle(q, facts, event)),
    ...asked,
  ];
  const closed = questions.some(
    (q) => !q.open && state.questions.some((old) => old.id === q.id && old.open),
  );
  const isProgress = event.verdict !== "unconfirmed" && (fresh.length > 0 || closed);
  const call = state.calls.find((c) => c.id === event.callId);
  const isConfirmedEffect = call?.effect === "write" && event.verdict === "confirmed";
  return {
    ...state,
    facts,
    questions,
    grounds: state.grounds + (isConfirmedEffect ? 1 : 0),
    streaks: { ...state.streaks, noProgress: isProgress ? 0 : state.streaks.noProgress + 1 },
  };
}

/** An equal value of the same key is no news, whatever call gave it. */
export function isNews(state: RunState, fact: Pick<Fact, "key" | "value" | "partial">): boolean {
  const known = newestFact(state, fact.key);
  if (known === null || known.partial !== fact.partial) return true;
  return !jsonEqual(known.value, fact.value);
}

function settle(
  question: Question,
  facts: readonly Fact[],
  event: EventOf<"verified">,
): Question {
  if (question.condition !== null) {
    const { condition } = question;
    const fact = facts.findLast((f) => f.key === condition.fact);
    const seen =
      fact === undefined ? ({ found: false } as const) : { found: true as const, value: fact.value };
    const open = !passes(condition, seen);
    return { ...question, open, closedBy: open ? null : (fact?.id ?? null) };
  }
  if (!question.open || event.verdict !== "confirmed") return question;
  const answer = event.facts.find(
    (fact) => question.pointers.includes(fact.pointer) && sameEntity(question.about, fact.about),
  );
  if (answer === undefined) return question;
  return { ...question, open: false, closedBy: answer.id };
}

/** Two sets of identity values agree when no name they share has another value. */
export function sameEntity(a: Fact["about"], b: Fact["about"]): boolean {
  return Object.keys(a).every((name) => !Object.hasOwn(b, name) || a[name] === b[name]);
}

function stepEnded(state: RunState): RunState {
  const rest = state.turn?.source === "model" ? state.turn.calls.slice(1) : [];
  const isParked = state.waiting !== null;
  return {
    ...state,
    step: state.step + 1,
    turn: null,
    kept: isParked ? [] : [...state.kept, ...rest],
  };
}

/** Nothing is settled after the end: a reservation that still stands stays spent, as paid but lost. */
function ended(before: RunState, event: EventOf<"ended">): RunState {
  const state = lostReservation(before);
  return {
    ...state,
    status: transition(state.status, event.status),
    reason: event.reason,
    waiting: null,
    turn: null,
    kept: [],
    endedAt: event.at,
    outcome: event.outcome,
  };
}
