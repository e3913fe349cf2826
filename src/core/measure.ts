/**
 * What each model call of a run carried, taken from its journal: the state before every decision is
 * folded again and its context built again, so a scripted run measures as well as a real one.
 */
import type { AgentSpec } from "./agent-spec.ts";
import { buildContext, type ModelContext } from "./context.ts";
import type { Event, EventOf } from "./event.ts";
import { isLastStep } from "./budget.ts";
import { reduce } from "./reduce.ts";
import type { RunState } from "./run-state.ts";
import { buildTranscript } from "./transcript.ts";

export interface MeasuredCall {
  readonly step: number;
  /** Tokens. */
  readonly input: number;
  readonly output: number;
}

export interface Counting {
  /** Tokens of a text, and of a whole request. */
  readonly text: (text: string) => number;
  readonly context: (context: ModelContext) => number;
  /** The usage that the journal tells is a server's; a scripted one is made up and counted anew. */
  readonly isUsageReal: boolean;
  /** In place of the agent's own. */
  readonly as?: AgentSpec["context"];
}

/** One entry a model decision, in order. */
export function measureRun(
  events: readonly Event[],
  agent: AgentSpec,
  counting: Counting,
): MeasuredCall[] {
  const calls: MeasuredCall[] = [];
  let state: RunState | null = null;
  for (const [i, event] of events.entries()) {
    if (event.type === "decided" && event.source === "model" && state !== null) {
      calls.push(measured(event, { state, events: events.slice(0, i), agent }, counting));
    }
    state = reduce(state, event);
  }
  return calls;
}

function measured(
  event: EventOf<"decided">,
  before: {
    readonly state: RunState;
    readonly events: readonly Event[];
    readonly agent: AgentSpec;
  },
  counting: Counting,
): MeasuredCall {
  const { step, usage } = event;
  if (counting.isUsageReal && usage !== null) {
    return { step, input: usage.input, output: usage.output };
  }
  const { state, events, agent } = before;
  const offer = isLastStep(state) ? "terminals" : "all";
  const context =
    (counting.as ?? agent.context) === "state"
      ? buildContext(state, agent, offer)
      : buildTranscript(events, { state, agent }, offer);
  const said = event.calls.map(({ tool, args, reason, expected }) => ({
    tool,
    args,
    reason,
    expected,
  }));
  const output = counting.text(`${event.text ?? ""}${JSON.stringify(said)}`);
  return { step, input: counting.context(context), output };
}
