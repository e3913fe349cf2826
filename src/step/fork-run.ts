/**
 * A new run from a saved step of another: the journal before that step is copied, the state is its
 * replay, and the old run is only read. What the copied steps did stays done, since their calls are
 * in the journal; what comes after is done anew, and effects under keys of the new run.
 *
 * Not copied as they are: the run's id (approvals are named after it), and the times that still
 * count (running time, an open wait), which go on from where they stood at that step.
 */
import { PawlError } from "../core/errors.ts";
import { parseEvent, type Event, type EventOf } from "../core/event.ts";
import { replay } from "../core/reduce.ts";
import type { RunState } from "../core/run-state.ts";
import type { RunStore } from "../store/run-store.ts";

export interface ForkDeps {
  readonly store: Pick<RunStore, "read" | "events" | "result" | "putResult" | "create">;
  /** Gives the new run the scripted outside of the old one; nothing to do where it is real. */
  readonly copyOutside: (fromRunId: string, toRunId: string) => Promise<void>;
  /** ms since epoch. */
  readonly now: () => number;
  readonly newId: () => string;
}

/** A write of the old run: which call of which step. */
export interface PastEffect {
  readonly step: number;
  readonly callId: string;
  readonly tool: string;
}

export type Forked =
  | {
      readonly kind: "forked";
      readonly runId: string;
      readonly state: RunState;
      /** Done by the old run from the step on: the new run may come to do them once more. */
      readonly effectsAhead: readonly PastEffect[];
    }
  | {
      readonly kind: "refused";
      readonly code: "step_not_saved" | "effect_unknown";
      readonly message: string;
    };

/**
 * Forks before a saved step (from 1). Throws PAWL_RUN_NOT_FOUND, and PAWL_EVENT_UNREADABLE for a
 * journal that cannot be read; a snapshot that cannot be read is no hindrance. Nothing is written
 * unless the whole run is.
 */
export async function forkRun(deps: ForkDeps, runId: string, step: number): Promise<Forked> {
  const run = await deps.store.read(runId);
  if (run === null) {
    throw new PawlError("PAWL_RUN_NOT_FOUND", `there is no run ${runId.slice(0, 80)}`);
  }
  // In this order: a step saved in between stands twice, never nowhere.
  const inHand = run.journal.map(parseEvent);
  const saved = (await deps.store.events(runId)).map(parseEvent);
  const last = saved.at(-1)?.step ?? 0;
  if (step < 1 || step > last) {
    const message = `run ${runId} has saved the steps 1 to ${last}; step ${step} is none of them`;
    return { kind: "refused", code: "step_not_saved", message };
  }
  const effects = effectsOf([...saved, ...inHand]);
  const open = effects.find(({ outcome }) => outcome === "intended" || outcome === "unknown");
  if (open !== undefined) return { kind: "refused", code: "effect_unknown", message: tell(open) };
  const at = deps.now();
  const copied = copyBefore(step, saved, { from: runId, to: deps.newId(), at });
  const events: Event[] = [...copied, { type: "forked", at, step, from: runId }];
  const state = replay(events);
  await copyResults(deps.store, runId, { to: state.id, events });
  await deps.copyOutside(runId, state.id);
  // Last and in one write: before it nobody knows of the new run, after it any worker can go on.
  const isMade = await deps.store.create({
    runId: state.id,
    ticketId: state.ticket.id,
    state,
    events,
  });
  if (!isMade) throw new Error(`the run id ${state.id} is taken`);
  const effectsAhead = effects
    .filter((effect) => effect.step >= step && effect.outcome === "succeeded")
    .map(({ outcome: _outcome, ...effect }) => effect);
  return { kind: "forked", runId: state.id, state, effectsAhead };
}

type Effect = PastEffect & { readonly outcome: EventOf<"called">["outcome"] | "intended" };

/** Every write by its last known outcome. */
function effectsOf(events: readonly Event[]): Effect[] {
  const effects = new Map<string, Effect>();
  for (const event of events) {
    const isWrite = event.type === "called" && event.effect === "write";
    if (!isWrite && event.type !== "intended") continue;
    const { step, callId, tool } = event;
    const outcome = event.type === "called" ? event.outcome : "intended";
    // A step that was saved while we read stands twice: its intent no longer counts.
    if (outcome === "intended" && effects.has(callId)) continue;
    effects.set(callId, { step, callId, tool, outcome });
  }
  return [...effects.values()];
}

/**
 * The key of a fork is another one, so the outside could not tell the second time from the first.
 */
function tell({ tool, step, outcome }: Effect): string {
  return outcome === "intended"
    ? `${tool} of step ${step} is under way; a fork is possible when its outcome is saved`
    : `nobody knows whether ${tool} of step ${step} happened; a fork could do it a second time`;
}

interface Copying {
  readonly from: string;
  readonly to: string;
  /** Now, in ms since epoch. */
  readonly at: number;
}

function copyBefore(step: number, saved: readonly Event[], copying: Copying): Event[] {
  const kept = saved.filter((event, i) => i === 0 || event.step < step);
  const { waiting, pending } = replay(kept);
  const restMs = copying.at - (kept.at(-1)?.at ?? copying.at);
  const openWait = waiting === null ? undefined : kept.findLast(({ type }) => type === "parked");
  return kept.map((event): Event => {
    if (event.type === "started") return { ...event, at: event.at + restMs };
    if (event.type === "parked" && event === openWait) {
      const until = event.until === null ? null : event.until + restMs;
      return { ...event, at: event.at + restMs, until };
    }
    if (event.type === "approval_requested" && event.approval.id === pending?.id) {
      const { requestedAt, expiresAt, ...rest } = event.approval;
      const times = { requestedAt: requestedAt + restMs, expiresAt: expiresAt + restMs };
      return renamed({ ...event, approval: { ...rest, ...times } }, copying);
    }
    return renamed(event, copying);
  });
}

/** An approval's id begins with its run's: by it a decision finds the run. */
function renamed(event: Event, { from, to, at }: Copying): Event {
  const idOf = (id: string): string =>
    id.startsWith(`${from}-`) ? `${to}${id.slice(from.length)}` : id;
  switch (event.type) {
    case "accepted":
      return { ...event, runId: to, at };
    case "approval_requested":
      return { ...event, approval: { ...event.approval, id: idOf(event.approval.id) } };
    case "rechecked":
    case "approval_settled":
      return { ...event, approvalId: idOf(event.approvalId) };
    case "observed": {
      const { happening } = event;
      if (happening.kind !== "approval_decision") return event;
      return { ...event, happening: { ...happening, approvalId: idOf(happening.approvalId) } };
    }
    default:
      return event;
  }
}

/**
 * Large results and kept items stand beside the journal. One that is gone is gone for the old run
 * as well.
 */
async function copyResults(
  store: ForkDeps["store"],
  from: string,
  { to, events }: { readonly to: string; readonly events: readonly Event[] },
): Promise<void> {
  const kept = events.flatMap((event) => {
    if (event.type === "decided") return event.items ?? [];
    return event.type === "called" && event.ref !== undefined ? event.callId : [];
  });
  for (const id of kept) {
    const text = await store.result(from, id);
    if (text !== null) await store.putResult(to, id, text);
  }
}
