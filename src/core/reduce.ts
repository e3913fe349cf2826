/**
 * (state, event) → state, the only writer of RunState; replay is its fold. No clock, no ids, no
 * randomness: what it needs stands in the event. One function an event, dispatched at the end.
 */
import { tokensOf } from "./decision.ts";
import { PawlError, unreachable } from "./errors.ts";
import type { Event, EventOf, Happening } from "./event.ts";
import { decidedByPerson, settleApproval } from "./reduce-approval.ts";
import { called, decided, intended, nudged, refused, sentBack } from "./reduce-call.ts";
import { verified } from "./reduce-facts.ts";
import { NOTHING, STATE_VERSION, type RunState } from "./run-state.ts";
import { unparked } from "./unparked.ts";
import { isTerminal, transition } from "./stop.ts";

/** Redelivered happenings are known by their ids; only the last so many are kept. */
const SEEN_KEPT = 200;

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
    case "forked":
      return { ...state, forkedFrom: { runId: event.from, step: event.step } };
    case "started":
      return started(state, event);
    case "observed":
      return observed(state, event.happening, event);
    case "resumed":
      return { ...state, resumes: state.resumes + 1 };
    case "reserved":
      return reserved(state, event);
    case "attempt_failed":
      return attemptFailed(state, event);
    case "fell_back":
      return { ...withoutRetry(state), fellBack: true };
    case "decided":
      return decided(withoutRetry(state), event);
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
    case "approval_requested":
      return { ...state, pending: event.approval };
    case "rechecked":
      return state;
    case "approval_settled":
      return settleApproval(state, event.status);
    case "sent":
      return { ...state, outward: [...state.outward, event.message] };
    case "parked":
      return {
        ...gated(faultSettled(state), event.gatedMs ?? 0),
        status: transition(state.status, "waiting"),
        waiting: { for: event.for, since: event.at, until: event.until },
      };
    case "retrying":
      return unparked(state, "retry", event.at);
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
    spent: { steps: 0, ...NOTHING },
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
    pending: null,
    approvals: [],
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
    case "approval_decision":
      return decidedByPerson(state, happening, event.at);
    case "cancel":
      return { ...unparked(state, null, event.at), cancelled: happening.why };
    default:
      return unreachable(happening, "happening");
  }
}

/** A reservation that stands when a new one is made was never settled: its reply was lost. */
function reserved(before: RunState, event: EventOf<"reserved">): RunState {
  const { tokens, moneyMicroUsd } = event;
  return { ...lostReservation(faultSettled(before)), reserved: { tokens, moneyMicroUsd } };
}

/** What a refused attempt held is free again; what one reported is spent; the rest is lost. */
function attemptFailed(before: RunState, event: EventOf<"attempt_failed">): RunState {
  const { faults, gatedMs } = before.retry ?? NO_RETRY;
  const { disposition: kind = "retry", retryAfterMs = null, message } = event;
  const state = {
    ...before,
    modelFaults: (before.modelFaults ?? 0) + 1,
    retry: { faults: faults + 1, gatedMs, open: { kind, retryAfterMs, message } },
  };
  if (event.fate === "unknown") return lostReservation(state);
  const tokens = event.usage === null ? 0 : tokensOf(event.usage);
  return {
    ...state,
    reserved: null,
    spent: {
      ...state.spent,
      tokens: state.spent.tokens + tokens,
      moneyMicroUsd: state.spent.moneyMicroUsd + event.moneyMicroUsd,
    },
  };
}

const NO_RETRY = { faults: 0, gatedMs: 0 };

function gated(state: RunState, ms: number): RunState {
  if (ms === 0) return state;
  const retry = state.retry ?? NO_RETRY;
  return { ...state, retry: { ...retry, gatedMs: retry.gatedMs + ms } };
}

/** What the last fault led to is on disk, or its wait is over. */
function faultSettled(state: RunState): RunState {
  if (state.retry?.open === undefined) return state;
  const { faults, gatedMs } = state.retry;
  return { ...state, retry: { faults, gatedMs } };
}

function withoutRetry(state: RunState): RunState {
  if (state.retry === undefined) return state;
  const { retry: _over, ...rest } = state;
  return rest;
}

function lostReservation(state: RunState): RunState {
  if (state.reserved === null) return state;
  const lost = state.lost ?? NOTHING;
  return {
    ...state,
    reserved: null,
    paidButLost: state.paidButLost + 1,
    lost: {
      tokens: lost.tokens + state.reserved.tokens,
      moneyMicroUsd: lost.moneyMicroUsd + state.reserved.moneyMicroUsd,
    },
    spent: {
      ...state.spent,
      tokens: state.spent.tokens + state.reserved.tokens,
      moneyMicroUsd: state.spent.moneyMicroUsd + state.reserved.moneyMicroUsd,
    },
  };
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

/**
 * Nothing is settled after the end: a reservation that still stands stays spent, as paid but lost.
 */
function ended(before: RunState, event: EventOf<"ended">): RunState {
  const state = lostReservation(before);
  return {
    ...state,
    status: transition(state.status, event.status),
    reason: event.reason,
    waiting: null,
    turn: null,
    kept: [],
    // Nobody decides any more; the journal has every result whole.
    recent: [],
    endedAt: event.at,
    outcome: event.outcome,
  };
}
