/**
 * Verify: the result against what was expected and against the tool's own contract. Deterministic,
 * no second model. A result that is about something else, too old or lacks a field gives no fact
 * at all.
 */
import { normalise, type ToolSpec } from "./agent-spec.ts";
import { describeTest, passes } from "./condition.ts";
import { testOf, type Expectation } from "./decision.ts";
import { jsonEqual, type Json, type JsonObject } from "./json.ts";
import { resolvePointer } from "./pointer.ts";
import { isNews } from "./reduce-facts.ts";
import { newestFact, type Question, type RunState } from "./run-state.ts";
import { type Fact } from "./fact.ts";

export type VerdictName = "confirmed" | "unconfirmed" | "contradicted";

export interface Verdict {
  readonly verdict: VerdictName;
  /** What failed, a sentence each; empty when confirmed. */
  readonly why: readonly string[];
  readonly facts: readonly Fact[];
  readonly question: Question | null;
}

export interface Observation {
  readonly callId: string;
  readonly step: number;
  readonly args: JsonObject;
  readonly expected: Expectation;
  readonly result: Json;
  /** ms since epoch when the result came. */
  readonly at: number;
}

/** A fact larger than this is cut and marked partial; longer ones would drown the context. */
const MAX_FACT_CHARS = 2_000;

export function verify(state: RunState, tool: ToolSpec, seen: Observation): Verdict {
  const about = aboutOf(tool, seen.result);
  const doubts = [...entityDoubts(tool, seen, about), ...ageDoubts(tool, seen)];
  const missing: string[] = [];
  const other: string[] = [];
  const failed: string[] = [];
  for (const field of seen.expected.fields) {
    const value = resolvePointer(seen.result, field.pointer);
    if (passes(testOf(field), value)) continue;
    failed.push(field.pointer);
    const sentence = `${field.pointer || "the result"} ${describeTest(testOf(field))}`;
    if (value.found) other.push(`expected: ${sentence}`);
    else missing.push(`missing: ${sentence}`);
  }
  const unconfirmed = [...doubts, ...missing];
  if (unconfirmed.length > 0) {
    const pointers = failed.length > 0 ? failed : seen.expected.fields.map((f) => f.pointer);
    return {
      verdict: "unconfirmed",
      why: [...unconfirmed, ...other],
      facts: [],
      question: ask(state, tool, seen, pointers),
    };
  }
  const facts = factsOf(state, tool, seen, about);
  if (other.length === 0) return { verdict: "confirmed", why: [], facts, question: null };
  return { verdict: "contradicted", why: other, facts, question: ask(state, tool, seen, failed) };
}

/** The identity values that the result itself gives, normalised like the arguments. */
function aboutOf(tool: ToolSpec, result: Json): JsonObject {
  return Object.fromEntries(
    Object.entries(tool.about).flatMap(([name, pointer]) => {
      const value = resolvePointer(result, pointer);
      return value.found ? [[name, normalised(tool, name, value.value)]] : [];
    }),
  );
}

function normalised(tool: ToolSpec, name: string, value: Json): Json {
  return normalise(value, Object.hasOwn(tool.normalize, name) ? (tool.normalize[name] ?? []) : []);
}

/**
 * The result must be about what was asked for and about what was expected: both, or it proves
 * nothing.
 */
function entityDoubts(tool: ToolSpec, seen: Observation, about: JsonObject): string[] {
  const doubts: string[] = [];
  for (const name of Object.keys(tool.about)) {
    const wanted = [seen.expected.about, seen.args].flatMap((side) =>
      side !== undefined && Object.hasOwn(side, name)
        ? [normalised(tool, name, side[name] as Json)]
        : [],
    );
    if (!Object.hasOwn(about, name))
      doubts.push(`the result does not say which ${name} it is about`);
    else if (wanted.some((value) => !jsonEqual(value, about[name]))) {
      doubts.push(`the result is about another ${name}`);
    }
  }
  for (const name of Object.keys(seen.expected.about ?? {})) {
    if (Object.hasOwn(tool.about, name)) continue;
    const value = (seen.expected.about as JsonObject)[name] as Json;
    const given = Object.hasOwn(seen.args, name) ? (seen.args[name] as Json) : undefined;
    if (!jsonEqual(normalised(tool, name, value), given)) {
      doubts.push(`${tool.name} cannot say that its result is about this ${name}`);
    }
  }
  return doubts;
}

function ageDoubts(tool: ToolSpec, seen: Observation): string[] {
  if (tool.observedAt === null || tool.maxAgeMs === null) return [];
  const observedAt = observedAtOf(tool, seen);
  if (observedAt === null) return ["the result does not say when it was observed"];
  const ageMs = seen.at - observedAt;
  return ageMs > tool.maxAgeMs
    ? [`observed ${ageMs} ms ago, at most ${tool.maxAgeMs} ms allowed`]
    : [];
}

function observedAtOf(tool: ToolSpec, seen: Observation): number | null {
  if (tool.observedAt === null) return seen.at;
  const value = resolvePointer(seen.result, tool.observedAt);
  if (!value.found) return null;
  const at = typeof value.value === "string" ? Date.parse(value.value) : Number(value.value);
  return Number.isFinite(at) && value.value !== null && value.value !== "" ? at : null;
}

function factsOf(state: RunState, tool: ToolSpec, seen: Observation, about: JsonObject): Fact[] {
  const observedAt = observedAtOf(tool, seen) ?? seen.at;
  let next = state.facts.length + 1;
  return Object.entries(tool.facts).flatMap(([key, pointer]) => {
    const value = resolvePointer(seen.result, pointer);
    if (!value.found) return [];
    const { kept, partial } = cutValue(value.value);
    // What is known already keeps its id: the first observation is its evidence.
    const isKnown = !isNews(state, { key, value: kept, partial, about });
    const id = isKnown ? (newestFact(state, key) as Fact).id : `f${next++}`;
    return {
      id,
      key,
      value: kept,
      step: seen.step,
      callId: seen.callId,
      tool: tool.name,
      pointer,
      observedAt,
      about,
      partial,
    };
  });
}

/** Keeps the first items or characters that fit; what was left out is said by `partial`. */
function cutValue(value: Json): { kept: Json; partial: boolean } {
  if (JSON.stringify(value).length <= MAX_FACT_CHARS) return { kept: value, partial: false };
  if (typeof value === "string") {
    // Half of a surrogate pair has no canonical form and would make the state unhashable.
    return { kept: value.slice(0, MAX_FACT_CHARS).replace(/[\uD800-\uDBFF]$/, ""), partial: true };
  }
  const kept: [string, Json][] = [];
  let size = 2;
  for (const [key, item] of Object.entries(value as JsonObject)) {
    size += JSON.stringify(item).length + key.length + 4;
    if (size > MAX_FACT_CHARS) break;
    kept.push([key, item]);
  }
  const cutTo = Array.isArray(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept);
  return { kept: cutTo, partial: true };
}

function ask(
  state: RunState,
  tool: ToolSpec,
  seen: Observation,
  pointers: readonly string[],
): Question {
  const subject = seen.expected.about ?? {};
  const what = pointers.map((p) => p || "its result").join(", ");
  return {
    id: `q${state.questions.length + 1}`,
    text: `${tool.name} ${JSON.stringify(subject)}: not confirmed: ${what}`,
    open: true,
    condition: null,
    pointers: [...pointers],
    about: Object.fromEntries(
      Object.entries(subject).map(([name, value]) => [name, normalised(tool, name, value)]),
    ),
    closedBy: null,
  };
}
