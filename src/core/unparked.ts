/** The one way a waiting run becomes a running one again. */
import type { RunState } from "./run-state.ts";
import { transition } from "./stop.ts";

/** Ends a wait that this happening answers (null: any wait); other waits go on. */
export function unparked(state: RunState, answers: string | null, at: number): RunState {
  if (state.waiting === null) return state;
  if (answers !== null && state.waiting.for !== answers) return state;
  return {
    ...state,
    status: transition(state.status, "running"),
    waiting: null,
    clock: { ...state.clock, parkedMs: state.clock.parkedMs + (at - state.waiting.since) },
  };
}
