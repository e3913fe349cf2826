/**
 * The crash budget of a step, apart from every other limit: a step that killed its worker so often,
 * or threw so often, is not tried again. Its run ends with a dump of how the step stood.
 */
import { messageOf } from "../core/errors.ts";
import type { EventOf } from "../core/event.ts";
import type { Dump } from "../core/outcome.ts";
import { stop, type Stop } from "../core/stop.ts";
import { end, type Finished } from "./finish.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/** A step that throws is tried again by the queue with growing delays: this often, minutes long. */
const MOST_FAULTS = 10;

/** The stop of a step whose budget of deaths or faults is used up, or null. */
export function brokenStep(work: Pick<Work, "tries" | "agent">): Stop | null {
  const { crashes, faults } = work.tries;
  if (crashes >= work.agent.crashBudget) {
    const detail = `${crashes} workers died in this step, and it is not tried again`;
    return stop("failed", "crash_loop", detail);
  }
  if (faults < MOST_FAULTS) return null;
  return stop("failed", "internal_error", `this step threw ${faults} times; see the step faults`);
}

export async function endBroken(deps: StepDeps, work: Work, found: Stop): Promise<Finished> {
  const dump = dumpOf(work);
  settleIntent(deps, work, found);
  return end(deps, work, { stop: found, dump, isUnruled: true });
}

function dumpOf({ state, events, journaled, tries }: Work): Dump {
  const { turn, pending } = state;
  const call = turn?.calls[0] ?? null;
  const approved = pending === null ? null : { callId: pending.callId, tool: pending.tool };
  return {
    step: state.step,
    ...tries,
    onDisk: events.slice(0, journaled).map(({ type, at }) => ({ type, at })),
    call: call === null ? approved : { callId: call.id, tool: call.tool },
  };
}

/**
 * An effect may be on its way. Its books are not asked: asking may be what the workers die of. So
 * it is told as unknown, for a person to look up under its key.
 */
function settleIntent(deps: StepDeps, work: Work, { detail }: Stop): void {
  const open = new Set(work.state.calls.filter((c) => c.outcome === "intended").map((c) => c.id));
  const intent = work.events.find(
    (event): event is EventOf<"intended"> => event.type === "intended" && open.has(event.callId),
  );
  if (intent === undefined) return;
  const { callId, tool, key, args, idempotencyKey } = intent;
  record(work, deps.now(), {
    type: "called",
    callId,
    tool,
    effect: "write",
    key,
    args,
    outcome: "unknown",
    error: { code: "tool_execution_failed", message: messageOf(detail) },
    handlerRuns: work.tries.claims - 1,
    idempotencyKey,
    ms: { decide: 0, act: 0, total: 0 },
  });
}
