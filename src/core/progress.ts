/**
 * After a call was recorded and verified: may the loop go on? Looks at what the facts now say and
 * at the streaks; the first stop in the precedence of stop.ts wins.
 */
import type { AgentSpec } from "./agent-spec.ts";
import { failedTooOften } from "./check.ts";
import { findContradiction, findMissingData } from "./contradiction.ts";
import type { Contradiction } from "./fact.ts";
import type { RunState } from "./run-state.ts";
import { firstStop, stop, type Stop } from "./stop.ts";

export interface AfterCall {
  readonly stop: Stop | null;
  readonly contradiction: Contradiction | null;
}

export function afterCall(state: RunState, agent: AgentSpec): AfterCall {
  const contradiction = findContradiction(state, agent);
  const missing = findMissingData(state, agent);
  const found = firstStop([
    withoutProgress(state),
    contradiction === null
      ? null
      : stop("handoff", "contradiction", `facts break the rule ${contradiction.rule}`),
    missing === null ? null : stop("handoff", "missing_data", `the rule ${missing} applies`),
    failedTooOften(state),
  ]);
  return { stop: found, contradiction };
}

function withoutProgress(state: RunState): Stop | null {
  const { stepsWithoutProgress } = state.limits;
  const { noProgress } = state.streaks;
  if (stepsWithoutProgress === null || noProgress < Math.max(1, stepsWithoutProgress)) return null;
  const detail = `${noProgress} calls in a row gave a result but no new fact and closed no question`;
  return stop("stalled", "no_progress", detail);
}
