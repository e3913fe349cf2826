/**
 * The part of reduce.ts about facts: what a verdict adds, which questions it closes, what is
 * progress.
 */
import { passes } from "./condition.ts";
import type { EventOf } from "./event.ts";
import { jsonEqual } from "./json.ts";
import { newestFact, type Question, type RunState } from "./run-state.ts";
import { type Fact } from "./fact.ts";

/**
 * Facts, questions and progress move together: progress is a new or changed fact or a closed
 * question.
 */
export function verified(state: RunState, event: EventOf<"verified">): RunState {
  const fresh = event.facts.filter((fact) => isNews(state, fact));
  const facts = [...state.facts, ...fresh];
  const asked = event.question === null ? [] : [event.question];
  const questions = [...state.questions.map((q) => settle(q, facts, event)), ...asked];
  const closed = questions.some(
    (q) => !q.open && state.questions.some((old) => old.id === q.id && old.open),
  );
  const hasNewValue = fresh.some((fact) => !hasValue(state, fact));
  const isProgress = event.verdict !== "unconfirmed" && (hasNewValue || closed);
  const call = state.calls.find((c) => c.id === event.callId);
  const isConfirmedEffect = call?.effect === "write" && event.verdict === "confirmed";
  return {
    ...state,
    facts,
    questions,
    grounds: state.grounds + (isConfirmedEffect ? 1 : 0),
    streaks: { ...state.streaks, noProgress: isProgress ? 0 : state.streaks.noProgress + 1 },
  };
}

/**
 * What is worth keeping: a value that the key does not have, or one about another entity, which an
 * answer about that entity will need as its evidence.
 */
export function isNews(
  state: RunState,
  fact: Pick<Fact, "key" | "value" | "partial" | "about">,
): boolean {
  const known = newestFact(state, fact.key);
  return known === null || !hasValue(state, fact) || !sameEntity(known.about, fact.about);
}

/** An equal value of the same key is no progress, whatever call gave it. */
function hasValue(state: RunState, fact: Pick<Fact, "key" | "value" | "partial">): boolean {
  const known = newestFact(state, fact.key);
  if (known === null || known.partial !== fact.partial) return false;
  return jsonEqual(known.value, fact.value);
}

function settle(question: Question, facts: readonly Fact[], event: EventOf<"verified">): Question {
  if (question.condition !== null) {
    const { condition } = question;
    const fact = facts.findLast((f) => f.key === condition.fact);
    const seen =
      fact === undefined
        ? ({ found: false } as const)
        : { found: true as const, value: fact.value };
    const open = !passes(condition, seen);
    return { ...question, open, closedBy: open ? null : (fact?.id ?? null) };
  }
  if (!question.open || event.verdict !== "confirmed") return question;
  const answer = event.facts.find(
    (fact) => question.pointers.includes(fact.pointer) && sameEntity(question.about, fact.about),
  );
  if (answer === undefined) return question;
  return { ...question, open: false, closedBy: answer.id };
}

/** Two sets of identity values agree when no name they share has another value. */
export function sameEntity(a: Fact["about"], b: Fact["about"]): boolean {
  return Object.keys(a).every((name) => !Object.hasOwn(b, name) || a[name] === b[name]);
}
