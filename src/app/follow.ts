/**
 * Follows a run from outside by reading its journal: whichever worker steps it, and however often
 * it dies, the journal is what happened. Events of the queue are never asked; they can be missed.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseEvent, type Event } from "../core/event.ts";
import { PawlError } from "../core/errors.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import { isTerminal } from "../core/stop.ts";
import type { RunStore } from "../store/run-store.ts";

export interface Followed {
  readonly events: readonly Event[];
  readonly state: RunState;
  readonly parked: boolean;
}

const POLL_MS = 25;

/** Resolves when the run has ended, waits for a person, or the signal says so. */
export async function followRun(
  store: RunStore,
  runId: string,
  onEvents: (all: readonly Event[]) => void,
  signal: AbortSignal,
): Promise<Followed> {
  const events: Event[] = [];
  for (;;) {
    const run = await store.read(runId);
    if (run === null) throw new PawlError("PAWL_RUN_NOT_FOUND", `there is no run ${runId}`);
    const lines = await store.events(runId, events.length);
    const fresh = lines.map((line, i) => parseEvent(line, events.length + i));
    events.push(...fresh);
    if (fresh.length > 0) onEvents(events);
    const state = parseRunState(run.json);
    // A wait for the model ends by itself.
    const isWaiting = state.waiting !== null && state.waiting.for !== "retry";
    const isOver = run.parked || isTerminal(state.status) || isWaiting;
    // The snapshot was read before the lines, so they hold all of it.
    if (isOver || signal.aborted) return { events, state, parked: run.parked };
    await pause(POLL_MS);
  }
}
