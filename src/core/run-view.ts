/**
 * A run as people and programs are shown it: what `pawl show --json` prints, which is a contract.
 * Folded from the saved state and the journal; it decides nothing and hides nothing of either.
 */
import type { Event } from "./event.ts";
import { protocolOf, type ProtocolRow } from "./protocol.ts";
import { NOTHING, type Amount, type Question, type RunState } from "./run-state.ts";
import type { Reason, Status } from "./stop.ts";

export interface RunView {
  readonly id: string;
  /** Only a fork has it. */
  readonly forkedFrom?: RunState["forkedFrom"];
  readonly agent: RunState["agent"];
  readonly ticketId: string;
  readonly status: Status;
  /** Null until the run has ended; for what it waits says `waiting`. */
  readonly reason: Reason | null;
  readonly waiting: RunState["waiting"];
  readonly step: number;
  readonly steps: readonly ProtocolRow[];
  readonly facts: RunState["facts"];
  readonly openQuestions: readonly Pick<Question, "id" | "text" | "about">[];
  readonly contradictions: RunState["contradictions"];
  /** `lost` is a part of `spent`: what the reservations counted by `paidButLost` held. */
  readonly budget: Pick<RunState, "limits" | "spent" | "reserved"> & { readonly lost: Amount };
  readonly paidButLost: number;
  /** Oldest first; the one that the run waits for is the last. */
  readonly approvals: RunState["approvals"];
  readonly outward: RunState["outward"];
  readonly outcome: RunState["outcome"];
  readonly resumes: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** `parked`: the store ended the run as unreadable and left its snapshot as it was. */
export function viewOf(
  state: RunState,
  events: readonly Event[],
  { parked }: { readonly parked: boolean },
): RunView {
  const { limits, spent, reserved, pending } = state;
  return {
    id: state.id,
    ...(state.forkedFrom === undefined ? {} : { forkedFrom: state.forkedFrom }),
    agent: state.agent,
    ticketId: state.ticket.id,
    status: parked ? "failed" : state.status,
    reason: parked ? "unreadable_state" : state.reason,
    waiting: parked ? null : state.waiting,
    step: state.step,
    steps: stepsOf(events),
    facts: state.facts,
    openQuestions: state.questions
      .filter((question) => question.open)
      .map(({ id, text, about }) => ({ id, text, about })),
    contradictions: state.contradictions,
    budget: { limits, spent, reserved, lost: state.lost ?? NOTHING },
    paidButLost: state.paidButLost,
    approvals: pending === null ? state.approvals : [...state.approvals, pending],
    outward: state.outward,
    outcome: state.outcome,
    resumes: state.resumes,
    createdAt: state.createdAt,
    endedAt: state.endedAt,
  };
}

/**
 * A step that carries out what a person approved decides nothing: its call names the tool. The step
 * that ends a run has no total of its own; it took at least as long as its phases.
 */
function stepsOf(events: readonly Event[]): ProtocolRow[] {
  return protocolOf(events).map((row) => {
    const { decide, act, total } = row.ms;
    const ms = { decide, act, total: Math.max(total, decide + act) };
    const call = events.find((event) => event.step === row.step && event.type === "called");
    const tool = row.tool ?? (call?.type === "called" ? call.tool : null);
    return { ...row, tool, ms };
  });
}
