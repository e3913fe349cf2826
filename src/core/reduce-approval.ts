/** The part of reduce.ts about approvals: asked for, decided by a person, used up or void. */
import type { Happening } from "./event.ts";
import type { Approval } from "./approval.ts";
import type { RunState } from "./run-state.ts";
import { unparked } from "./unparked.ts";

type Decision = Extract<Happening, { kind: "approval_decision" }>;

/** A decision counts once, and only for the approval that the run waits for. */
export function decidedByPerson(state: RunState, said: Decision, at: number): RunState {
  const { pending } = state;
  if (pending === null || pending.id !== said.approvalId || pending.status !== "pending") {
    return state;
  }
  const { by, note } = said;
  return {
    ...unparked(state, "approval", at),
    pending: { ...pending, status: said.decision, by, note },
    grounds: state.grounds + 1,
  };
}

/** Puts the pending approval among the settled ones: it can never be used again. */
export function settleApproval(state: RunState, status: Approval["status"]): RunState {
  if (state.pending === null) return state;
  return { ...state, pending: null, approvals: [...state.approvals, { ...state.pending, status }] };
}
