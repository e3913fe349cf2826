/**
 * (state, now) → what this step must do. The only place that decides how a run goes on; limits are
 * looked at here, when the loop would go on, and never between a decision and its ruling.
 */
import { exhausted, isLastStep } from "./budget.ts";
import type { ReplyCall } from "./decision.ts";
import type { RunState, Turn } from "./run-state.ts";
import { firstStop, isTerminal, stop, type Stop } from "./stop.ts";

export type Plan =
  | { readonly do: "nothing"; readonly why: "ended" | "waiting" }
  | { readonly do: "stop"; readonly stop: Stop }
  /** The decision is journaled: go on with it, paid once. */
  | { readonly do: "judge"; readonly turn: Turn }
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
  // An effect that may be on its way is settled first: its outcome must not be lost.
  if (state.turn !== null && (told === null || state.turn.intended !== null)) {
    return { do: "judge", turn: state.turn };
  }
  const found = firstStop([told, exhausted(state, now)]);
  if (state.waiting !== null) {
    const isOver = state.waiting.until !== null && now >= state.waiting.until;
    if (told !== null) return { do: "stop", stop: told };
    if (!isOver) return { do: "nothing", why: "waiting" };
    return { do: "stop", stop: waitedInVain(state) };
  }
  if (found !== null) return { do: "stop", stop: found };
  const [kept] = state.kept;
  if (isLastStep(state)) return { do: "ask", offer: "terminals", dropped: state.kept };
  return kept === undefined
    ? { do: "ask", offer: "all", dropped: [] }
    : { do: "take_kept", call: kept };
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
