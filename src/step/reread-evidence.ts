/**
 * Before an approved effect acts, what it rests on is read again: hours may lie between the
 * request and the yes. A fact that has changed stops the effect and shows a person both
 * observations.
 */
import type { Event, EventOf } from "../core/event.ts";
import { jsonEqual, readJson } from "../core/json.ts";
import { resolvePointer } from "../core/pointer.ts";
import type { Approval } from "../core/approval.ts";
import type { Fact } from "../core/fact.ts";
import { stop, type Stop } from "../core/stop.ts";
import { runCall } from "../tools/run-call.ts";
import { record, type StepDeps, type Work } from "./work.ts";

type Called = EventOf<"called">;

/** null: every fact read again is as it was. */
export async function rereadEvidence(
  deps: StepDeps,
  work: Work,
  approval: Approval,
  journal: readonly Event[],
): Promise<Stop | null> {
  const reads = evidenceReads(work, journal);
  for (const read of reads) {
    const found = await reread(deps, work, read);
    if (found === null) continue;
    const rechecked = { approvalId: approval.id, callIds: [read.callId], isUnchanged: false };
    record(work, deps.now(), { type: "rechecked", ...rechecked });
    return found;
  }
  const callIds = reads.map((read) => read.callId);
  record(work, deps.now(), {
    type: "rechecked",
    approvalId: approval.id,
    callIds,
    isUnchanged: true,
  });
  return null;
}

/**
 * The last read of each entity: a search or an article is no state of the world that can change.
 */
function evidenceReads(work: Work, journal: readonly Event[]): Called[] {
  const reads = new Map<string, Called>();
  for (const event of journal) {
    if (event.type !== "called" || event.effect !== "read" || event.outcome !== "succeeded")
      continue;
    const tool = work.agent.tools.get(event.tool);
    if (tool !== undefined && Object.keys(tool.about).length > 0) reads.set(event.key, event);
  }
  return [...reads.values()];
}

async function reread(deps: StepDeps, work: Work, read: Called): Promise<Stop | null> {
  const tool = work.agent.tools.get(read.tool);
  if (tool === undefined) return null;
  const result = await runCall(tool, read.args, {
    runId: work.state.id,
    step: work.state.step,
    ticketId: work.state.ticket.id,
    customerId: work.state.ticket.customer?.id ?? null,
    idempotencyKey: null,
    signal: work.signal,
  });
  if (result.outcome !== "succeeded") {
    const detail = `${tool.name} could not be read again before the effect: ${result.message}`;
    return stop("handoff", "required_tool_unavailable", detail);
  }
  const held = work.state.facts.filter(
    (fact) => fact.callId === read.callId && isNewest(work, fact),
  );
  for (const fact of held) {
    const now = resolvePointer(result.value, fact.pointer);
    if (now.found && (fact.partial || jsonEqual(now.value, fact.value))) continue;
    const seen = readJson(now.found ? now.value : null);
    const other = {
      ...fact,
      id: `${fact.id}r`,
      value: seen.ok ? seen.value : null,
      observedAt: deps.now(),
    };
    const evidence = { rule: "evidence_changed", sides: [fact, other] };
    record(work, deps.now(), { type: "contradicted", evidence });
    const detail = `${fact.key} changed between the request and the approval`;
    return stop("handoff", "contradiction", detail);
  }
  return null;
}

function isNewest(work: Work, fact: Fact): boolean {
  return work.state.facts.findLast((other) => other.key === fact.key)?.id === fact.id;
}
