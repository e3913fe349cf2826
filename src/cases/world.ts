/**
 * The scripted outside world of a case: what tools answer, what happened there, what was asked of
 * the model. Its books are its own and outlive every worker; the run's state never feeds them.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ToolSpec } from "../core/agent-spec.ts";
import { canonicalJson } from "../core/call-key.ts";
import { jsonEqual, type Json, type JsonObject } from "../core/json.ts";
import { PawlError } from "../core/errors.ts";
import { TransientToolError, type EffectLookup, type ToolContext } from "../tools/tool.ts";
import type { ModelRequest } from "../providers/provider.ts";
import type { Case, ScriptedAnswer } from "./case.ts";
import { whyUnsendable } from "./sendable.ts";

/**
 * Where the books are kept; every operation is atomic, so that a zombie cannot count twice as
 * once.
 */
export interface WorldBooks {
  /** Adds to a counter of a run's world and returns the new value. */
  readonly count: (runId: string, name: string, by?: number) => Promise<number>;
  /**
   * Books an effect once per key; returns the booked result, which is the earlier one if there was
   * one.
   */
  readonly book: (runId: string, tool: string, key: string, result: Json) => Promise<Json>;
  readonly booked: (runId: string, tool: string, key: string) => Promise<Json | undefined>;
  /** Remembers that a handler was entered with this key. */
  readonly sawKey: (runId: string, tool: string, key: string) => Promise<void>;
  readonly note: (runId: string, kind: NoteKind, text: string) => Promise<void>;
  /** Which scripted answer stands at a place of a run; null: none was given there yet. */
  readonly answerAt: (runId: string, place: string) => Promise<number | null>;
  readonly setAnswerAt: (runId: string, place: string, index: number) => Promise<void>;
  /** Keeps the case of a run; see `WorldScript`. */
  readonly put: (runId: string, script: WorldScript) => Promise<void>;
  readonly load: (runId: string) => Promise<WorldScript | null>;
  readonly totals: (runId: string) => Promise<WorldTotals>;
}

/** The case of a run as its outside knows it. */
export interface WorldScript {
  /** The case file as JSON text. */
  readonly text: string;
  /**
   * A call that is made again after a crash gets the answer that it got before. A case's own kills
   * leave this off, since `times` counts over restarts; runs that are compared with an
   * uninterrupted one need it: what is compared is what the crash changed, not a script used up.
   */
  readonly answersAgain: boolean;
  /** Where its model's replies are served over a wire; null: they are given in the process. */
  readonly endpoint: ModelEndpointRef | null;
}

/** How the model of a case is asked: in the process, or by the real client of one of the wires. */
export type CaseProvider = "scripted" | "chat" | "responses";

export interface ModelEndpointRef {
  /** Of this run; the number of the turn follows. */
  readonly url: string;
  readonly provider: CaseProvider;
}

export type NoteKind = "aborted" | "fault" | "request";

export interface WorldTotals {
  readonly modelCalls: number;
  readonly handlerCalls: Readonly<Record<string, number>>;
  readonly effects: Readonly<Record<string, number>>;
  readonly effectKeys: Readonly<Record<string, number>>;
  readonly aborted: readonly string[];
  /** The script had no answer: the case itself is wrong. */
  readonly faults: readonly string[];
  readonly lastRequest: {
    readonly tools: readonly string[];
    readonly text: string;
    /** Why no server would take it; null: it can be sent. */
    readonly unsendable: string | null;
  } | null;
}

/** A case and where its outside keeps its books. */
export interface World {
  readonly books: WorldBooks;
  readonly file: Case;
  /** Absent: every call is answered anew. */
  readonly places?: Places | undefined;
  /** Writes on their way in, by idempotency key. */
  readonly entering: Map<string, Promise<unknown>>;
}

export function createWorld(file: Case, books: WorldBooks, places?: Places): World {
  return { file, books, places, entering: new Map() };
}

/** Names the same place for a call that is made again after a crash, as its process counts. */
export type Places = (runId: string, call: string) => string;

/** A new process counts from the start, and so comes by the places of the one before. */
export function createPlaces(): Places {
  const calls = new Map<string, number>();
  return (runId, call) => {
    const n = (calls.get(`${runId} ${call}`) ?? 0) + 1;
    calls.set(`${runId} ${call}`, n);
    return `${call}:${n}`;
  };
}

/** The index of a scripted answer: the one given at this place before, or a choice that is kept. */
export async function answerOnce(
  { books, places }: Pick<World, "books" | "places">,
  call: { readonly runId: string; readonly name: string },
  choose: () => Promise<number>,
): Promise<number> {
  const place = places?.(call.runId, call.name);
  const earlier = place === undefined ? null : await books.answerAt(call.runId, place);
  if (earlier !== null) return earlier;
  const index = await choose();
  if (place !== undefined) await books.setAnswerAt(call.runId, place, index);
  return index;
}

/** Answers a handler's call as the case says; books the effect of a write when it is entered. */
export async function callWorld(
  world: World,
  tool: Pick<ToolSpec, "name" | "effect">,
  args: JsonObject,
  context: ToolContext,
): Promise<unknown> {
  const { runId, idempotencyKey: key, signal } = context;
  const onAbort = (): void =>
    void world.books.note(runId, "aborted", tool.name).catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const entering = enter(world, tool, args, context);
    if (key !== null) world.entering.set(key, entering);
    const entered = await entering;
    if ("earlier" in entered) return entered.earlier;
    const { answer } = entered;
    if ((answer.delayMs ?? 0) > 0) await pause(answer.delayMs, undefined, { signal });
    return give(answer);
  } finally {
    if (key !== null) world.entering.delete(key);
    signal.removeEventListener("abort", onAbort);
  }
}

/** In place of an answer's index: the outside's books hold the result of this key. */
const BOOKED = -1;

/** The call arrives: it is counted, gets its answer, and its effect happens. */
async function enter(
  world: World,
  tool: Pick<ToolSpec, "name" | "effect">,
  args: JsonObject,
  { runId, step, idempotencyKey: key }: ToolContext,
): Promise<{ readonly earlier: Json } | { readonly answer: ScriptedAnswer }> {
  const { books, file } = world;
  await books.count(runId, `handler:${tool.name}`);
  if (key !== null) await books.sawKey(runId, tool.name, key);
  const booked = key === null ? undefined : await books.booked(runId, tool.name, key);
  const name = `${step}:${tool.name}:${canonicalJson(args)}`;
  // A key that the outside has seen before gets the result it got before, as real services do.
  const index = await answerOnce(world, { runId, name }, async () =>
    booked === undefined ? chooseAnswer(world, tool.name, args, runId) : BOOKED,
  );
  if (index === BOOKED) return { earlier: booked as Json };
  const answer = file.tools[tool.name]?.[index] as ScriptedAnswer;
  const happens = tool.effect === "write" && answer.result !== undefined && answer.effect !== false;
  if (happens && key !== null) await books.book(runId, tool.name, key, answer.result as Json);
  return { answer };
}

/** Asked while the call itself is still arriving, the outside answers after it. */
export async function lookUpWorld(
  { books, entering }: World,
  tool: string,
  runId: string,
  key: string,
): Promise<EffectLookup> {
  await entering.get(key)?.catch(() => undefined);
  const result = await books.booked(runId, tool, key);
  return result === undefined ? { found: false } : { found: true, result };
}

/** The first entry whose `when` fits and whose `times` are not used up over the whole run. */
async function chooseAnswer(
  { books, file }: World,
  tool: string,
  args: JsonObject,
  runId: string,
): Promise<number> {
  const answers = Object.hasOwn(file.tools, tool) ? (file.tools[tool] ?? []) : [];
  for (const [i, answer] of answers.entries()) {
    if (!fits(answer.when ?? {}, args)) continue;
    if (answer.times === undefined) return i;
    if ((await books.count(runId, `used:${tool}:${i}`)) <= answer.times) return i;
  }
  const text = `/tools/${tool}: no answer is left for this call`;
  await books.note(runId, "fault", text);
  throw new PawlError("PAWL_CASE_NO_ANSWER", text, { path: `/tools/${tool}` });
}

function fits(when: JsonObject, args: JsonObject): boolean {
  return Object.entries(when).every(
    ([name, value]) => Object.hasOwn(args, name) && jsonEqual(value, args[name]),
  );
}

function give(answer: ScriptedAnswer): unknown {
  if (answer.error !== undefined) throw new TransientToolError(answer.error);
  if (answer.throws !== undefined) throw new Error(answer.throws);
  return answer.resultOf === undefined ? answer.result : strangeResult(answer.resultOf);
}

/** Results that a careless handler gives and JSON cannot hold. */
function strangeResult(kind: NonNullable<ScriptedAnswer["resultOf"]>): unknown {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const results = {
    bigint: { id: 10n },
    cycle,
    date: { at: new Date(0) },
    map: { items: new Map([["a", 1]]) },
    nan: { amount: Number.NaN },
    undefined: undefined,
    bytes: new Uint8Array([1, 2, 3]),
  };
  return results[kind];
}

/** Counts a request to the model and keeps it as the last one. */
export async function bookRequest(books: WorldBooks, request: ModelRequest): Promise<void> {
  await books.count(request.runId, "modelCalls");
  const tools = request.tools.map((tool) => tool.name);
  const said = request.messages.flatMap((message) =>
    message.role === "assistant"
      ? [message.text ?? "", ...message.calls.map((call) => `${call.tool} ${call.args}`)]
      : [message.text],
  );
  const text = [request.instructions, ...said].join("\n");
  const unsendable = whyUnsendable(request);
  await books.note(request.runId, "request", JSON.stringify({ tools, text, unsendable }));
}
