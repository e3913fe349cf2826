/**
 * RunState: everything a worker needs to go on. It is data and the fold of the journal; the
 * transcript is not the state. Written only as the result of `reduce`, saved only through a fence.
 *
 * Schema versions: 1 = the first. A version this code does not know parks the run untouched.
 */
import { z } from "zod";
import { approvalSchema, permissionSchema } from "./approval.ts";
import { factConditionSchema } from "./condition.ts";
import { FAULT_KINDS, replyCallSchema } from "./decision.ts";
import { PawlError } from "./errors.ts";
import { evidenceSchema, factSchema, type Fact } from "./fact.ts";
import { jsonObjectSchema, jsonSchema } from "./json.ts";
import { outcomeSchema } from "./outcome.ts";
import { STATUSES, ALL_REASONS, type Reason, type Status } from "./stop.ts";
import { ticketSchema } from "./ticket.ts";

export const STATE_VERSION = 1;

/** null is unlimited and must be said; 0 is zero. Money is integer micro-USD, time is ms. */
const limit = z.int().min(0).nullable();
export const limitsSchema = z.strictObject({
  steps: limit,
  timeMs: limit,
  tokens: limit,
  moneyMicroUsd: limit,
  stepsWithoutProgress: limit,
  refusedInARow: limit,
  providerRetries: limit,
  retryAfterMaxMs: limit,
});
export type Limits = z.infer<typeof limitsSchema>;

export const DEFAULT_LIMITS: Limits = {
  steps: 6,
  timeMs: 600_000,
  tokens: null,
  moneyMicroUsd: null,
  stepsWithoutProgress: 2,
  refusedInARow: 3,
  providerRetries: 3,
  retryAfterMaxMs: 600_000,
};

/** Some limits; a name left out, or undefined, says nothing. */
export type GivenLimits = { readonly [K in keyof Limits]?: Limits[K] | undefined };

/** The limits of an agent with some of them replaced; a name left out keeps the agent's. */
export function limitsWith(limits: Limits, given: GivenLimits | undefined): Limits {
  const named = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...limits, ...(Object.fromEntries(named) as Partial<Limits>) };
}

export const callSchema = z.strictObject({
  id: z.string(),
  step: z.int(),
  tool: z.string(),
  key: z.string(),
  effect: z.enum(["read", "write"]),
  /** Arguments as JSON text, cut: for the context and the handoff, not for identity. */
  shownArgs: z.string(),
  outcome: z.enum(["intended", "succeeded", "failed", "unknown"]),
  /** How many new grounds the run had when the call was made. */
  grounds: z.int(),
});
export type CallRecord = z.infer<typeof callSchema>;

export const questionSchema = z.strictObject({
  id: z.string(),
  text: z.string(),
  open: z.boolean(),
  /** A postcondition's question follows its condition; a verdict's closes once, on a pointer. */
  condition: factConditionSchema.nullable(),
  pointers: z.array(z.string()),
  about: jsonObjectSchema,
  closedBy: z.string().nullable(),
});
export type Question = z.infer<typeof questionSchema>;

/** What this step has decided and not yet ended: a redelivered job goes on from here. */
export const turnSchema = z.strictObject({
  source: z.enum(["model", "kept"]),
  finish: z.string(),
  text: z.string().nullable(),
  calls: z.array(replyCallSchema),
  /** Where the reply's own items are kept. */
  items: z.string().optional(),
  /** Customer messages and takeovers the decision knew of; fewer than now means it is stale. */
  heard: z.int(),
  permission: permissionSchema.nullable(),
  intended: z.strictObject({ callId: z.string(), idempotencyKey: z.string() }).nullable(),
});
export type Turn = z.infer<typeof turnSchema>;

export const outwardSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["answer", "question", "handoff"]),
  step: z.int(),
  text: z.string(),
});

const amountSchema = z.strictObject({ tokens: z.int().min(0), moneyMicroUsd: z.int().min(0) });
export type Amount = z.infer<typeof amountSchema>;
export const NOTHING: Amount = { tokens: 0, moneyMicroUsd: 0 };

export const feedbackSchema = z.strictObject({
  step: z.int(),
  code: z.string(),
  tool: z.string().nullable(),
  message: z.string(),
});
export type Feedback = z.infer<typeof feedbackSchema>;

/** A request that gave no decision. */
const modelFaultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS),
  /** ms that the server asks to be left alone; null: it did not say. */
  retryAfterMs: z.number().min(0).nullable(),
  message: z.string(),
});
export type ModelFault = z.infer<typeof modelFaultSchema>;

/** Of the decision in hand: requests that failed, ms spent at a shared gate. */
const retrySchema = z.strictObject({
  faults: z.int().min(0),
  gatedMs: z.number().min(0),
  /** The last fault, until what it leads to is done: a crash between must not ask once more. */
  open: modelFaultSchema.optional(),
});

export const runStateSchema = z.strictObject({
  v: z.literal(STATE_VERSION),
  id: z.string(),
  /** Only a fork has it: the run it was taken from, and the step that it decides anew. */
  forkedFrom: z.strictObject({ runId: z.string(), step: z.int() }).optional(),
  agent: z.strictObject({ name: z.string(), version: z.string() }),
  ticket: ticketSchema,
  /** Customer messages since the ticket, oldest first. */
  replies: z.array(z.strictObject({ step: z.int(), text: z.string() })),
  status: z.enum(STATUSES as readonly [Status, ...Status[]]),
  reason: z.enum(ALL_REASONS as readonly [Reason, ...Reason[]]).nullable(),
  waiting: z
    .strictObject({
      for: z.enum(["approval", "user_reply", "retry"]),
      since: z.number(),
      until: z.number().nullable(),
    })
    .nullable(),
  /** Number of the step in hand, which is also its job's; from 1. */
  step: z.int().min(1),
  limits: limitsSchema,
  spent: z.strictObject({
    steps: z.int().min(0),
    tokens: z.int().min(0),
    moneyMicroUsd: z.int().min(0),
  }),
  reserved: amountSchema.nullable(),
  /** Reservations whose call was never journaled: paid, perhaps, and lost. */
  paidButLost: z.int().min(0),
  /** What those reserved, which stays spent; absent where none was lost. */
  lost: amountSchema.optional(),
  clock: z.strictObject({ startedAt: z.number(), parkedMs: z.number() }),
  createdAt: z.number(),
  endedAt: z.number().nullable(),
  resumes: z.int().min(0),
  /** New grounds so far (user reply, approval decision, ticket revision, confirmed effect). */
  grounds: z.int().min(0),
  /** Customer messages and human takeovers heard so far: what makes an outward message stale. */
  heard: z.int().min(0),
  cancelled: z.string().nullable(),
  humanTookOver: z.boolean(),
  calls: z.array(callSchema),
  facts: z.array(factSchema),
  questions: z.array(questionSchema),
  contradictions: z.array(evidenceSchema),
  /** The approval that the run waits for or is about to use. */
  pending: approvalSchema.nullable(),
  /** Earlier ones, settled. */
  approvals: z.array(approvalSchema),
  kept: z.array(replyCallSchema),
  turn: turnSchema.nullable(),
  nextCall: z.int().min(1),
  /** Decisions that came from a model call (kept calls are decisions without one). */
  modelTurns: z.int().min(0),
  /** Requests that gave no decision, in all; absent where every one did. */
  modelFaults: z.int().min(1).optional(),
  retry: retrySchema.optional(),
  /** The fallback model has taken over for the rest of the run. */
  fellBack: z.literal(true).optional(),
  streaks: z.strictObject({
    noProgress: z.int(),
    refused: z.int(),
    invalidTerminals: z.int(),
    nudges: z.int(),
    claimsSentBack: z.int(),
    postconditionSentBack: z.int(),
  }),
  feedback: z.array(feedbackSchema),
  /** The last results as the model sees them, cut with a mark; whole ones are in the journal. */
  recent: z.array(
    z.strictObject({
      callId: z.string(),
      tool: z.string(),
      text: z.string(),
      args: z.string().optional(),
      reason: z.string().optional(),
      items: z.string().optional(),
      expected: jsonSchema.optional(),
    }),
  ),
  outward: z.array(outwardSchema),
  outcome: outcomeSchema.nullable(),
  /** Ids of the last outside happenings taken in: a redelivered one is known. */
  seen: z.array(z.string()),
});
export type RunState = z.infer<typeof runStateSchema>;

/**
 * Takes the text of a stored snapshot. Returns the state; throws PAWL_STATE_UNREADABLE with the
 * path of the first fault and never the value itself, which may be a customer's words.
 */
export function parseRunState(text: string): RunState {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new PawlError("PAWL_STATE_UNREADABLE", "the stored state is not JSON", { cause });
  }
  const version = (json as { v?: unknown } | null)?.v;
  if (version !== STATE_VERSION) {
    const seen = typeof version === "number" ? String(version) : typeof version;
    throw new PawlError(
      "PAWL_STATE_UNREADABLE",
      `the stored state has version ${seen}, this program reads ${STATE_VERSION}`,
      { path: "/v" },
    );
  }
  const parsed = runStateSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = `/${(issue?.path ?? []).join("/")}`;
  throw new PawlError("PAWL_STATE_UNREADABLE", `the stored state at ${path}: ${issue?.message}`, {
    path,
  });
}

/** The newest fact of a key. */
export function newestFact(state: RunState, key: string): Fact | null {
  return state.facts.findLast((fact) => fact.key === key) ?? null;
}
