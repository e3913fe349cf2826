/**
 * Which limits a run has: the agent's, replaced by its tenant's, replaced by the run's own; none of
 * them above the agent's ceiling. None of them is the model's to change.
 */
import type { AgentSpec } from "./agent-spec.ts";
import { PawlError } from "./errors.ts";
import { limitsWith, type GivenLimits, type Limits } from "./run-state.ts";

/** Throws PAWL_LIMIT_ABOVE_CEILING with the name of the limit; null is above every number. */
export function limitsFor(
  agent: Pick<AgentSpec, "name" | "limits" | "ceiling">,
  given: { readonly tenant?: GivenLimits | undefined; readonly run?: GivenLimits | undefined },
): Limits {
  for (const [by, limits] of Object.entries(given)) {
    for (const [name, value] of Object.entries(limits ?? {})) {
      const most = agent.ceiling[name as keyof Limits];
      if (value === undefined || most === undefined || most === null) continue;
      if (value !== null && value <= most) continue;
      const message = `the ${by}'s limit ${name} is ${value ?? "unlimited"}, the ceiling of agent ${agent.name} is ${most}`;
      throw new PawlError("PAWL_LIMIT_ABOVE_CEILING", message, { path: `/limits/${name}` });
    }
  }
  return limitsWith(limitsWith(agent.limits, given.tenant), given.run);
}
