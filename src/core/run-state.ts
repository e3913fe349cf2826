/**
 * RunState: everything a worker needs to go on. It is data and the fold of the journal; the
 * transcript is not the state. Written only as the result of `reduce`, saved only through a fence.
 *
 * Schema versions: 1 = the first. A version this code does not know parks the run untouched.
 */
import { z } from "zod";
import { factConditionSchema } from "./condition.ts";
import { replyCallSchema } from "./decision.ts";
import { PawlError } from "./errors.ts";
import { jsonObjectSchema, jsonSchema } from "./json.ts";
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

/** The limits of an agent with some of them replaced; a name left out keeps the agent's. */
export function limitsWith(
  limits: Limits,
  given: { readonly [K in keyof Limits]?: Limits[K] | undefined } | undefined,
): Limits {
  const named = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...limits, ...(Object.fromEntries(named) as Partial<Limits>) };
}

export const factSchema = z.strictObject({
  id: z.string(),
  key: z.string(),
  value: jsonSchema,
  step: z.int(),
  callId: z.string(),
  tool: z.string(),
  /** Into the recorded result of the call. */
  pointer: z.string(),
  /** ms since epoch: when the source says it was so, else when it was recorded. */
  observedAt: z.number(),
  /** The entity it is about, by the tool's identity names. */
  about: jsonObjectSchema,
  /**
   * Read from a list, object or text that had to be cut: no count and no "none" follows from it.
   */
  partial: z.boolean(),
});
export type Fact = z.infer<typeof factSchema>;

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

export const permissionSchema = z.strictObject({
  callId: z.string(),
  answer: z.enum(["allow", "require_approval", "deny"]),
  rule: z.string(),
  reason: z.string(),
});
export type Permission = z.infer<typeof permissionSchema>;

/** What this step has decided and not yet ended: a redelivered job goes on from here. */
export const turnSchema = z.strictObject({
  source: z.enum(["model", "kept"]),
  finish: z.string(),
  text: z.string().nullable(),
  calls: z.array(replyCallSchema),
  /** Customer messages and takeovers the decision knew of; fewer than now means it is stale. */
  heard: z.int(),
  permission: permissionSchema.nullable(),
  intended: z.strictObject({ callId: z.string(), idempotencyKey: z.string() }).nullable(),
});
export type Turn = z.infer<typeof turnSchema>;

/** A person's yes or no to one effect; single use, expiring, void if the arguments change. */
export const approvalSchema = z.strictObject({
  id: z.string(),
  /** The step whose decision asked for it. */
  step: z.int(),
  callId: z.string(),
  /** The terminal that asked, and the write tool that it executes. */
  terminal: z.string(),
  tool: z.string(),
  args: jsonObjectSchema,
  argsHash: z.string(),
  key: z.string(),
  policyVersion: z.string(),
  /** Customer messages and takeovers known when it was asked: a newer one makes it void. */
  heard: z.int(),
  requestedAt: z.number(),
  expiresAt: z.number(),
  status: z.enum(["pending", "approved", "rejected", "expired", "void", "used"]),
  by: z.string().nullable(),
  note: z.string().nullable(),
});
export type Approval = z.infer<typeof approvalSchema>;

export const evidenceSchema = z.strictObject({
  rule: z.string(),
  /** One side of the contradiction an entry: what was seen, and where. */
  sides: z.array(factSchema),
});
export type Contradiction = z.infer<typeof evidenceSchema>;

const supportedClaimSchema = z.strictObject({
  factId: z.string(),
  key: z.string(),
  value: jsonSchema,
});
export type SupportedClaim = z.infer<typeof supportedClaimSchema>;

const reportSchema = {
  known: z.array(factSchema),
  unknown: z.array(z.strictObject({ id: z.string(), text: z.string() })),
  contradicts: z.array(evidenceSchema),
  tried: z.array(
    z.strictObject({
      callId: z.string(),
      step: z.int(),
      tool: z.string(),
      args: z.string(),
      outcome: z.string(),
    }),
  ),
};

/**
 * What the run hands back. A stop carries the same report as a handoff: nobody starts from
 * nothing.
 */
export const outcomeSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("answer"),
    message: z.string(),
    claims: z.array(supportedClaimSchema),
  }),
  z.strictObject({
    kind: z.literal("effect"),
    approvalId: z.string(),
    tool: z.string(),
    callId: z.string(),
    /** What the provider's confirmation says: ids, status. */
    claims: z.array(supportedClaimSchema),
    message: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal("handoff"),
    ...reportSchema,
    queue: z.string(),
    summary: z.string().nullable(),
    customerMessage: z.string().nullable(),
  }),
  z.strictObject({ kind: z.literal("stop"), ...reportSchema, detail: z.string() }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;

export const outwardSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["answer", "question", "handoff"]),
  step: z.int(),
  text: z.string(),
});
export type Outward = z.infer<typeof outwardSchema>;

const amountSchema = z.strictObject({ tokens: z.int().min(0), moneyMicroUsd: z.int().min(0) });
export type Amount = z.infer<typeof amountSchema>;

export const feedbackSchema = z.strictObject({
  step: z.int(),
  code: z.string(),
  tool: z.string().nullable(),
  message: z.string(),
});
export type Feedback = z.infer<typeof feedbackSchema>;

export const runStateSchema = z.strictObject({
  v: z.literal(STATE_VERSION),
  id: z.string(),
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
  recent: z.array(z.strictObject({ callId: z.string(), tool: z.string(), text: z.string() })),
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
