/**
 * What a run hands back when it ends: an answer, a handoff, or a stop with the same report. Built
 * from facts, questions and calls only, so it cannot say more than the tools said.
 */
import type { AgentSpec } from "./agent-spec.ts";
import type { CallRecord, RunState } from "./run-state.ts";
import type { Fact } from "./fact.ts";
import type { Outcome } from "./outcome.ts";
import { newestFact } from "./run-state.ts";
import type { Stop } from "./stop.ts";

export interface HandoffText {
  readonly summary: string | null;
  readonly customerMessage: string | null;
}

const NO_TEXT: HandoffText = { summary: null, customerMessage: null };

export function outcomeOf(
  state: RunState,
  found: Stop,
  agent: Pick<AgentSpec, "queue">,
  text: HandoffText = NO_TEXT,
): Outcome {
  const report = {
    known: knownFacts(state),
    unknown: state.questions.filter((q) => q.open).map(({ id, text: t }) => ({ id, text: t })),
    contradicts: state.contradictions,
    tried: state.calls.map(triedOf),
  };
  return found.status === "handoff"
    ? { kind: "handoff", ...report, queue: agent.queue, ...text }
    : { kind: "stop", ...report, detail: found.detail };
}

/** The newest fact of each key, in the order in which the keys were first learned. */
function knownFacts(state: RunState): Fact[] {
  const keys = [...new Set(state.facts.map((fact) => fact.key))];
  return keys.flatMap((key) => newestFact(state, key) ?? []);
}

function triedOf(call: CallRecord) {
  const { id, step, tool, shownArgs, outcome } = call;
  return { callId: id, step, tool, args: shownArgs, outcome };
}
