/**
 * (state, now) → what this step must do. The only place that decides how a run goes on; limits are
 * looked at here, when the loop would go on, and never between a decision and its ruling.
 */
import { exhausted, isLastStep } from "./budget.ts";
import type { ReplyCall } from "./decision.ts";
import type { Approval } from "./approval.ts";
import type { RunState, Turn } from "./run-state.ts";
import { firstStop, isTerminal, stop, type Stop } from "./stop.ts";

export type Plan =
  | { readonly do: "nothing"; readonly why: "ended" | "waiting" }
  | { readonly do: "stop"; readonly stop: Stop }
  /** The wait is over: it goes on with the decision that it could not get. */
  | { readonly do: "retry" }
  /** The decision is journaled: go on with it, paid once. */
  | { readonly do: "judge"; readonly turn: Turn }
  /** A person said yes: check again, carry out, confirm. */
  | { readonly do: "carry_out"; readonly approval: Approval }
  | { readonly do: "take_kept"; readonly call: ReplyCall }
  /** `dropped`: kept calls that the last step leaves unexecuted. */
  | {
      readonly do: "ask";
      readonly offer: "all" | "terminals";
      readonly dropped: readonly ReplyCall[];
    };

export function next(state: RunState, now: number): Plan {
  if (isTerminal(state.status)) return { do: "nothing", why: "ended" };
  const told = interrupted(state);
  const approval = approvalPlan(state, told);
  if (approval !== null) return approval;
  // An effect that may be on its way is settled first: its outcome must not be lost.
  if (state.turn !== null && (told === null || state.turn.intended !== null)) {
    return { do: "judge", turn: state.turn };
  }
  const found = firstStop([told, exhausted(state, now)]);
  if (state.waiting !== null) {
    const isOver = state.waiting.until !== null && now >= state.waiting.until;
    if (told !== null) return { do: "stop", stop: told };
    if (!isOver) return { do: "nothing", why: "waiting" };
    if (state.waiting.for === "retry") return { do: "retry" };
    return { do: "stop", stop: waitedInVain(state) };
  }
  if (found !== null) return { do: "stop", stop: found };
  const [kept] = state.kept;
  if (isLastStep(state)) return { do: "ask", offer: "terminals", dropped: state.kept };
  return kept === undefined
    ? { do: "ask", offer: "all", dropped: [] }
    : { do: "take_kept", call: kept };
}

/** An effect that may be on its way goes first; then what people said; then the decision. */
function approvalPlan(state: RunState, told: Stop | null): Plan | null {
  const { pending } = state;
  if (pending === null || pending.status === "pending") return null;
  const isIntended = state.calls.some((call) => call.id === pending.callId);
  if (told !== null && !isIntended) return { do: "stop", stop: told };
  if (pending.status === "approved") return { do: "carry_out", approval: pending };
  if (pending.status === "rejected") {
    const detail = `${pending.by ?? "a person"} rejected ${pending.tool}`;
    return { do: "stop", stop: stop("denied", "approval_rejected", detail) };
  }
  return { do: "stop", stop: stop("handoff", "approval_expired", "nobody decided in time") };
}

/** What people said that ends the run, whatever the loop was about to do. */
function interrupted(state: RunState): Stop | null {
  return firstStop([
    state.cancelled === null ? null : stop("cancelled", "by_operator", state.cancelled),
    state.humanTookOver ? stop("handoff", "human_took_over", "a person answered the ticket") : null,
  ]);
}

function waitedInVain(state: RunState): Stop {
  return state.waiting?.for === "approval"
    ? stop("handoff", "approval_expired", "nobody decided in time")
    : stop("handoff", "user_silent", "the customer did not answer in time");
}
