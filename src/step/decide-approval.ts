/**
 * A person's yes or no, from wherever it comes: bound to the arguments as the run holds them now,
 * and decided once by the store. Nothing here carries anything out.
 */
import { canonicalJson, digest } from "../core/call-key.ts";
import { parseRunState } from "../core/run-state.ts";
import { type Approval } from "../core/approval.ts";
import type { Decided, RunStore } from "../store/run-store.ts";

export interface DecideDeps {
  readonly store: Pick<RunStore, "read" | "decide">;
  readonly newId: () => string;
}

export interface PersonDecision {
  readonly approvalId: string;
  readonly decision: "approved" | "rejected" | "expired";
  readonly by: string;
  readonly note: string | null;
  /** Of the arguments that the person was shown, where they were shown apart. */
  readonly argsHash?: string;
}

/** The run that an approval belongs to: its id is `<run>-a<n>`. */
export function runIdOf(approvalId: string): string | null {
  return /^(.+)-a\d+$/.exec(approvalId)?.[1] ?? null;
}

/** Decides once; every other answer says why nothing was done. */
export async function decideApproval(deps: DecideDeps, said: PersonDecision): Promise<Decided> {
  const runId = runIdOf(said.approvalId);
  const run = runId === null ? null : await deps.store.read(runId);
  if (run === null) return "unknown_approval";
  const state = parseRunState(run.json);
  const known: Approval[] = [
    ...state.approvals,
    ...(state.pending === null ? [] : [state.pending]),
  ];
  const approval = known.find((a) => a.id === said.approvalId);
  if (approval === undefined) return "unknown_approval";
  const argsHash = digest(canonicalJson(approval.args));
  if (said.argsHash !== undefined && said.argsHash !== argsHash) return "arguments_changed";
  const { approvalId, decision, by, note } = said;
  const happening = {
    kind: "approval_decision" as const,
    id: deps.newId(),
    approvalId,
    decision,
    by,
    note,
    argsHash,
  };
  return deps.store.decide({ runId: run.id, approvalId, argsHash, happening });
}
