/**
 * The journal: one event a line, append-only. RunState is the fold of these and of nothing else, so
 * an event carries every value that `reduce` needs (time and ids included). Every kind ever written
 * stays readable.
 */
import { z } from "zod";
import { FAULT_KINDS, replyCallSchema, usageSchema } from "./decision.ts";
import { PawlError } from "./errors.ts";
import { jsonObjectSchema, jsonSchema } from "./json.ts";
import { approvalSchema, permissionSchema } from "./approval.ts";
import { evidenceSchema, factSchema } from "./fact.ts";
import { limitsSchema, outwardSchema, questionSchema } from "./run-state.ts";
import { outcomeSchema } from "./outcome.ts";
import { priceSchema } from "./price.ts";
import { ALL_REASONS, TERMINAL_STATUSES, type Reason, type TerminalStatus } from "./stop.ts";
import { ticketSchema } from "./ticket.ts";

/** ms since epoch from the clock port, and the step the event belongs to. */
const base = { at: z.number(), step: z.int().min(1) };

const happeningSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user_reply"), id: z.string(), text: z.string() }),
  z.strictObject({ kind: z.literal("ticket_revision"), id: z.string(), ticket: ticketSchema }),
  z.strictObject({ kind: z.literal("human_reply"), id: z.string(), by: z.string() }),
  z.strictObject({
    kind: z.literal("approval_decision"),
    id: z.string(),
    approvalId: z.string(),
    decision: z.enum(["approved", "rejected", "expired"]),
    by: z.string(),
    note: z.string().nullable(),
    /** Of the arguments that the person saw. */
    argsHash: z.string(),
  }),
  z.strictObject({ kind: z.literal("cancel"), id: z.string(), why: z.string() }),
]);
/** What happens outside while a run lives; it waits in the run's inbox until a step takes it in. */
export type Happening = z.infer<typeof happeningSchema>;

/** Durations in ms by phase. */
const phaseMs = z.strictObject({ decide: z.number(), act: z.number(), total: z.number() });

export const eventSchema = z.discriminatedUnion("type", [
  z.strictObject({
    ...base,
    type: z.literal("accepted"),
    v: z.literal(1),
    runId: z.string(),
    agent: z.strictObject({ name: z.string(), version: z.string() }),
    ticket: ticketSchema,
    limits: limitsSchema,
    questions: z.array(questionSchema),
  }),
  /** In the journal of a fork, after what was copied: which run, and before which of its steps. */
  z.strictObject({ ...base, type: z.literal("forked"), from: z.string() }),
  z.strictObject({ ...base, type: z.literal("started") }),
  z.strictObject({ ...base, type: z.literal("observed"), happening: happeningSchema }),
  z.strictObject({ ...base, type: z.literal("resumed"), claim: z.int() }),
  z.strictObject({
    ...base,
    type: z.literal("reserved"),
    tokens: z.int().min(0),
    moneyMicroUsd: z.int().min(0),
    /** Which model is asked, by which route, and what its tokens cost. */
    model: z.string().optional(),
    route: z.enum(["main", "routine", "fallback"]).optional(),
    price: priceSchema.nullable().optional(),
    /** Whose day holds the same amount until it is settled; the day is a UTC date. */
    account: z.strictObject({ tenant: z.string(), day: z.string() }).optional(),
  }),
  /**
   * A request that gave no decision. refused: the server did nothing, it costs nothing. reported:
   * it told what it used. unknown: it may have worked (a cut connection), so what was reserved
   * stays spent.
   */
  z.strictObject({
    ...base,
    type: z.literal("attempt_failed"),
    model: z.string(),
    fate: z.enum(["refused", "reported", "unknown"]),
    message: z.string(),
    disposition: z.enum(FAULT_KINDS).optional(),
    /** ms that the server asked for. */
    retryAfterMs: z.number().min(0).optional(),
    requestId: z.string().optional(),
    usage: usageSchema.nullable(),
    moneyMicroUsd: z.int().min(0),
    ms: z.number(),
  }),
  /** The model in use is given up for the rest of the run. */
  z.strictObject({
    ...base,
    type: z.literal("fell_back"),
    from: z.string(),
    to: z.string(),
    why: z.string(),
  }),
  z.strictObject({
    ...base,
    type: z.literal("decided"),
    source: z.enum(["model", "kept"]),
    model: z.string().nullable(),
    finish: z.string(),
    text: z.string().nullable(),
    calls: z.array(replyCallSchema),
    usage: usageSchema.nullable(),
    moneyMicroUsd: z.int().min(0),
    contextTokens: z.int().min(0).nullable(),
    requestId: z.string().optional(),
    /** Where the reply's own items are kept beside the journal, for later requests. */
    items: z.string().optional(),
    /** The usage as it came, where it says more than `usage` can. */
    rawUsage: jsonObjectSchema.optional(),
    ms: z.number(),
  }),
  z.strictObject({
    ...base,
    type: z.literal("refused"),
    callId: z.string(),
    tool: z.string(),
    code: z.enum(["unknown_tool", "invalid_arguments", "expectation_missing"]),
    /**
     * A terminal's arguments are an answer sent back, not a refused decision (bug cases, rule 19).
     */
    terminal: z.boolean(),
    message: z.string(),
  }),
  z.strictObject({ ...base, type: z.literal("nudged") }),
  z.strictObject({
    ...base,
    type: z.literal("sent_back"),
    callId: z.string(),
    code: z.enum(["claims_unsupported", "postcondition_unmet"]),
    unsupported: z.array(z.string()),
  }),
  z.strictObject({
    ...base,
    type: z.literal("not_executed"),
    calls: z.array(replyCallSchema),
    why: z.string(),
  }),
  z.strictObject({ ...base, type: z.literal("permitted"), permission: permissionSchema }),
  z.strictObject({
    ...base,
    type: z.literal("intended"),
    callId: z.string(),
    tool: z.string(),
    key: z.string(),
    args: jsonObjectSchema,
    idempotencyKey: z.string(),
  }),
  z.strictObject({
    ...base,
    type: z.literal("called"),
    callId: z.string(),
    tool: z.string(),
    effect: z.enum(["read", "write"]),
    key: z.string(),
    args: jsonObjectSchema,
    outcome: z.enum(["succeeded", "failed", "unknown"]),
    /** One of result, ref, error. `digest` is SHA-256 of the result's JSON text. */
    result: jsonSchema.optional(),
    ref: z.strictObject({ bytes: z.int(), preview: z.string() }).optional(),
    digest: z.string().optional(),
    error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
    handlerRuns: z.int().min(0),
    idempotencyKey: z.string().optional(),
    ms: phaseMs,
  }),
  z.strictObject({
    ...base,
    type: z.literal("verified"),
    callId: z.string(),
    verdict: z.enum(["confirmed", "unconfirmed", "contradicted"]),
    why: z.array(z.string()),
    facts: z.array(factSchema),
    question: questionSchema.nullable(),
  }),
  z.strictObject({ ...base, type: z.literal("approval_requested"), approval: approvalSchema }),
  /**
   * Before an approved effect its evidence was read again: which calls, and whether all was as
   * before.
   */
  z.strictObject({
    ...base,
    type: z.literal("rechecked"),
    approvalId: z.string(),
    callIds: z.array(z.string()),
    isUnchanged: z.boolean(),
  }),
  z.strictObject({
    ...base,
    type: z.literal("approval_settled"),
    approvalId: z.string(),
    status: z.enum(["rejected", "expired", "void", "used"]),
    why: z.string(),
  }),
  z.strictObject({ ...base, type: z.literal("contradicted"), evidence: evidenceSchema }),
  z.strictObject({ ...base, type: z.literal("sent"), message: outwardSchema }),
  z.strictObject({
    ...base,
    type: z.literal("parked"),
    for: z.enum(["approval", "user_reply", "retry"]),
    until: z.number().nullable(),
    /** ms for which other runs' rate limits, not its own, hold this one back. */
    gatedMs: z.number().min(0).optional(),
  }),
  /** The wait for a retry is over: the model is asked again. */
  z.strictObject({ ...base, type: z.literal("retrying") }),
  z.strictObject({ ...base, type: z.literal("step_ended"), ms: z.number() }),
  z.strictObject({
    ...base,
    type: z.literal("ended"),
    status: z.enum(TERMINAL_STATUSES as readonly [TerminalStatus, ...TerminalStatus[]]),
    reason: z.enum(ALL_REASONS as readonly [Reason, ...Reason[]]),
    detail: z.string(),
    /** For a repeat: the step that made the call first. */
    earlierStep: z.int().nullable(),
    outcome: outcomeSchema,
  }),
]);
export type Event = z.infer<typeof eventSchema>;
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;

/** Takes a journal line; throws PAWL_EVENT_UNREADABLE with its place, never with its content. */
export function parseEvent(line: string, index: number): Event {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch (cause) {
    throw new PawlError("PAWL_EVENT_UNREADABLE", `journal line ${index} is not JSON`, {
      path: `/${index}`,
      cause,
    });
  }
  const parsed = eventSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = `/${[index, ...(issue?.path ?? [])].join("/")}`;
  throw new PawlError("PAWL_EVENT_UNREADABLE", `journal ${path}: ${issue?.message}`, { path });
}

/** Reads an inbox entry; null for one that cannot be read, which must never stop a run. */
export function parseHappening(text: string): Happening | null {
  try {
    return happeningSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
