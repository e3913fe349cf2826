/**
 * The context of the next decision, as the agent wants it. The transcript is the only one that
 * reads more than the state: its whole journal, one more round trip a decision.
 */
import { buildContext, type ModelContext } from "../core/context.ts";
import { parseEvent } from "../core/event.ts";
import { buildTranscript } from "../core/transcript.ts";
import type { StepDeps, Work } from "./work.ts";

export async function modelContext(
  deps: StepDeps,
  work: Work,
  offer: "all" | "terminals",
): Promise<ModelContext> {
  const { state, agent } = work;
  if (agent.context === "state") return buildContext(state, agent, offer);
  const saved = (await deps.store.events(state.id)).map(parseEvent);
  return buildTranscript([...saved, ...work.events], { state, agent }, offer);
}

/** What replies are shown with, from beside the journal; a round trip only where there is some. */
export async function keptItems(
  deps: Pick<StepDeps, "store">,
  runId: string,
  { messages }: ModelContext,
): Promise<ReadonlyMap<string, string>> {
  const refs = messages.flatMap((message) =>
    message.role === "assistant" ? message.calls.flatMap(({ items }) => items ?? []) : [],
  );
  return deps.store.results(runId, refs);
}
