/**
 * The part of reduce.ts about decisions and calls: what was decided, refused, sent back, intended
 * and carried out, and the streaks that bound each of them.
 */
import { cut, wellFormed } from "./cut.ts";
import { tokensOf } from "./decision.ts";
import type { EventOf } from "./event.ts";
import type { CallRecord, Feedback, RunState } from "./run-state.ts";

/** Bounds of what the state keeps for the model's eyes; everything whole is in the journal. */
const RECENT_RESULTS = 3;
export const SHOWN_RESULT_CHARS = 2_000;
const SHOWN_ARGS_CHARS = 300;
const SHOWN_REASON_CHARS = 300;
const SHOWN_EXPECTATION_CHARS = 1_000;
const FEEDBACK_KEPT = 6;

export function decided(state: RunState, event: EventOf<"decided">): RunState {
  const isModel = event.source === "model";
  const tokens =
    event.usage === null ? (isModel ? (state.reserved?.tokens ?? 0) : 0) : tokensOf(event.usage);
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
      ...(event.items === undefined ? {} : { items: event.items }),
      heard: state.heard,
      permission: null,
      intended: null,
    },
  };
}

export function refused(state: RunState, event: EventOf<"refused">): RunState {
  const streaks = event.terminal
    ? { ...state.streaks, refused: 0, invalidTerminals: state.streaks.invalidTerminals + 1 }
    : { ...state.streaks, refused: state.streaks.refused + 1 };
  return {
    ...withFeedback(state, {
      step: event.step,
      code: event.code,
      tool: event.tool,
      message: event.message,
    }),
    streaks,
  };
}

/** What the model is told after text without a call. */
export const NUDGE = "Text alone does nothing. Call one tool, or one terminal tool to end.";

export function nudged(state: RunState, event: EventOf<"nudged">): RunState {
  return {
    ...withFeedback(state, {
      step: event.step,
      code: "terminal_tool_missing",
      tool: null,
      message: NUDGE,
    }),
    streaks: { ...state.streaks, nudges: state.streaks.nudges + 1 },
  };
}

export function sentBack(state: RunState, event: EventOf<"sent_back">): RunState {
  const isClaims = event.code === "claims_unsupported";
  const message = isClaims
    ? `Not sent. Without support from a fact that you claim: ${event.unsupported.join(", ")}`
    : `Not sent. Still open: ${event.unsupported.join(", ")}`;
  return {
    ...withFeedback(state, { step: event.step, code: event.code, tool: null, message: message }),
    streaks: {
      ...state.streaks,
      refused: 0,
      claimsSentBack: state.streaks.claimsSentBack + (isClaims ? 1 : 0),
      postconditionSentBack: state.streaks.postconditionSentBack + (isClaims ? 0 : 1),
    },
  };
}

function withFeedback(state: RunState, feedback: Feedback): RunState {
  return { ...state, feedback: [...state.feedback, feedback].slice(-FEEDBACK_KEPT) };
}

export function intended(state: RunState, event: EventOf<"intended">): RunState {
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
    // An approved effect has no turn: it was decided steps ago.
    turn: state.turn === null ? null : { ...state.turn, intended: { callId, idempotencyKey } },
  };
}

function withCall(state: RunState, call: CallRecord): RunState {
  return { ...state, calls: [...state.calls.filter((c) => c.id !== call.id), call] };
}

export function called(before: RunState, event: EventOf<"called">): RunState {
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
      ...withFeedback(state, { step: event.step, code: code, tool: event.tool, message: message }),
      streaks: { ...state.streaks, refused: state.streaks.refused + 1 },
    };
  }
  const shown = { ...shownCall(state, event), text: shownResult(event) };
  return {
    ...state,
    recent: [...state.recent, shown].slice(-RECENT_RESULTS),
    streaks: { ...state.streaks, refused: 0, invalidTerminals: 0 },
  };
}

/** A result as the model sees it, cut with a mark. */
export function shownResult({ ref, result }: Pick<EventOf<"called">, "ref" | "result">): string {
  return ref === undefined
    ? cut(JSON.stringify(result ?? null), SHOWN_RESULT_CHARS)
    : `${ref.preview}… [cut: ${ref.bytes} bytes in all]`;
}

/** The call as the model made it, so that a context can pair it with its result. */
function shownCall(state: RunState, event: EventOf<"called">) {
  const { turn } = state;
  const made = turn?.calls.find((call) => call.id === event.callId);
  // The items of a reply end with its first call; the others go without.
  const items = made !== undefined && made === turn?.calls[0] ? turn.items : undefined;
  const args = JSON.stringify(event.args);
  const expected = made?.expected ?? null;
  return {
    callId: event.callId,
    tool: event.tool,
    // Arguments must stay a JSON object, so what is too long is shown cut inside one.
    args:
      args.length <= SHOWN_RESULT_CHARS
        ? args
        : JSON.stringify({ cut: cut(args, SHOWN_RESULT_CHARS) }),
    reason: wellFormed(cut(made?.reason ?? "", SHOWN_REASON_CHARS)),
    expected: JSON.stringify(expected).length <= SHOWN_EXPECTATION_CHARS ? expected : null,
    ...(items === undefined ? {} : { items }),
  };
}
