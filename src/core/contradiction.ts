/**
 * Contradictions are rules of the pack over facts, never a model's opinion. A rule that fires ends
 * the run with the evidence of each side; who is right is not said, since nobody here can know.
 */
import type { AgentSpec, ContradictionRule } from "./agent-spec.ts";
import { passes, type FactCondition } from "./condition.ts";
import { sameEntity } from "./reduce-facts.ts";
import { newestFact, type RunState } from "./run-state.ts";
import { type Contradiction, type Fact } from "./fact.ts";

/** The first rule of the pack that the newest facts break, with its evidence. */
export function findContradiction(state: RunState, agent: AgentSpec): Contradiction | null {
  for (const rule of agent.contradictions) {
    const sides = sidesOf(state, rule);
    if (sides !== null) return { rule: rule.id, sides };
  }
  return null;
}

function sidesOf(state: RunState, rule: ContradictionRule): Fact[] | null {
  if (!rule.when.every((condition) => holds(state, condition))) return null;
  const sides = rule.when.flatMap((condition) => newestFact(state, condition.fact) ?? []);
  // Facts about two different orders do not contradict each other.
  const isOneEntity = sides.every((a) => sides.every((b) => sameEntity(a.about, b.about)));
  return isOneEntity ? sides : null;
}

/** The pack's rule that says a question can never be closed, if one applies. */
export function findMissingData(state: RunState, agent: AgentSpec): string | null {
  const rule = agent.missingData.find((r) => r.when.every((condition) => holds(state, condition)));
  return rule?.id ?? null;
}

/** Whether a condition holds over the newest facts. */
export function holds(state: RunState, condition: FactCondition): boolean {
  const fact = newestFact(state, condition.fact);
  return passes(condition, fact === null ? { found: false } : { found: true, value: fact.value });
}
