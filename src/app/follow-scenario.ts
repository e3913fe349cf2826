/**
 * Follows a scenario's run and plays its people: each time the run waits, the next entry of the
 * scenario that answers a wait is said (an approval, a rejection, the customer's reply).
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Case } from "../cases/case.ts";
import { decisionOf, happeningOf } from "../cases/happenings.ts";
import type { Event } from "../core/event.ts";
import type { RunState } from "../core/run-state.ts";
import { decideApproval } from "../step/decide-approval.ts";
import { systemClock } from "./clock.ts";
import { followRun, type Followed } from "./follow.ts";
import type { Backbone } from "./wire.ts";

export interface FollowedScenario {
  readonly runId: string;
  readonly file: Case;
  readonly onEvents: (all: readonly Event[]) => void;
  /** What a person just said, in words. */
  readonly onPerson: (text: string) => void;
}

const POLL_MS = 25;

/** Resolves when the run has ended, or waits and the scenario has nobody left who would answer. */
export async function followScenario(
  backbone: Backbone,
  scenario: FollowedScenario,
  signal: AbortSignal,
): Promise<Followed> {
  const { runId, file, onEvents } = scenario;
  const waits = file.events.flatMap((event, index) =>
    event.after !== undefined && "status" in event.after && event.after.status === "waiting"
      ? [{ index, event }]
      : [],
  );
  for (;;) {
    const followed = await followRun(backbone.store, runId, onEvents, signal);
    const { state, parked } = followed;
    if (parked || signal.aborted || state.status !== "waiting") return followed;
    const next = waits.shift();
    if (next === undefined && file.fastForward !== true) return followed;
    if (next !== undefined) await say(backbone, scenario, state, next);
    await moved(backbone, state, signal);
  }
}

async function say(
  backbone: Backbone,
  { runId, file, onPerson }: FollowedScenario,
  state: RunState,
  due: { readonly index: number; readonly event: Case["events"][number] },
): Promise<void> {
  const said = decisionOf(due.event);
  if (said !== null && state.pending !== null) {
    const { isPrevious: _one, ...decision } = said;
    const deps = { store: backbone.store, newId: systemClock.newId };
    const answer = await decideApproval(deps, { approvalId: state.pending.id, ...decision });
    onPerson(`${said.by}: ${said.decision} ${state.pending.tool} (${answer})`);
    return;
  }
  const happening = happeningOf(file, due, state.ticket);
  if (happening === null) return;
  const answer = await backbone.store.post(runId, happening);
  onPerson(`${happening.kind.replaceAll("_", " ")} (${answer})`);
}

/** The wait is over when the run's step has moved: every wake counts one off. */
async function moved(backbone: Backbone, state: RunState, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const run = await backbone.store.read(state.id);
    if (run === null || run.parked || run.step !== state.step) return;
    if (run.json !== "" && (JSON.parse(run.json) as RunState).status !== "waiting") return;
    await pause(POLL_MS);
  }
}
