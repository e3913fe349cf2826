/**
 * The policy layer's contract: every call is allowed, needs a person, or is denied, by a named
 * rule. Fails closed: an answer that is odd, thrown, or never comes is a denial, never a crash.
 */
import { z } from "zod";
import { digest } from "../core/call-key.ts";
import type { JsonObject } from "../core/json.ts";
import { messageOf } from "../core/errors.ts";

/**
 * `args` is the model's. All else is trusted: from the ticket, the run and the registry, and no
 * argument of any name reaches it. What a caller leaves out counts as not known, never as harmless.
 */
export interface PermitRequest {
  readonly runId: string;
  readonly agent: string;
  readonly tool: string;
  readonly effect: "read" | "write";
  readonly args: JsonObject;
  readonly ticketId: string;
  readonly customerId: string | null;
  /** Tenant, actor and scopes stand in the attributes, put there by whoever took the ticket in. */
  readonly ticket?: {
    readonly id: string;
    readonly customerId: string | null;
    readonly attributes: JsonObject;
  };
  /** The newest value of each fact. */
  readonly facts: JsonObject;
  /** A person has said yes to exactly this call. */
  readonly approved?: boolean;
  readonly spent?: {
    readonly steps: number;
    readonly tokens: number;
    readonly moneyMicroUsd: number;
  };
  /** Effects that happened before this call: in this run, and for this customer in any run. */
  readonly effectsOfRun?: number;
  readonly effectsOfCustomer?: number;
}

/** Whatever a policy gives back; only the exact shape of `answerSchema` is believed. */
export interface Policy {
  /** What an approval binds to: another version makes it void. */
  readonly version?: string;
  /** Places where it reads what may be missing, which denies the call. Logged at the start. */
  readonly warnings?: readonly string[];
  readonly decide: (request: PermitRequest) => unknown;
}

const answerSchema = z.strictObject({
  answer: z.enum(["allow", "require_approval", "deny"]),
  rule: z.string().min(1),
  reason: z.string(),
});
export type PolicyAnswer = z.infer<typeof answerSchema>;

/** The rule of a denial that nobody wrote: nothing allowed the call. */
export const DEFAULT_DENY = "default_deny";

/** A policy that has not answered by then is not going to: far above any in-process rule. */
const POLICY_TIMEOUT_MS = 2_000;

/** Asks the policy; never throws. */
export async function permit(
  policy: Policy,
  request: PermitRequest,
  timeoutMs = POLICY_TIMEOUT_MS,
): Promise<PolicyAnswer> {
  try {
    const given = policy.decide(request);
    const answer = given instanceof Promise ? await within(given, timeoutMs) : given;
    const parsed = answerSchema.safeParse(answer);
    if (parsed.success) return parsed.data;
    return denied("policy_answer_invalid", "the policy gave no valid answer");
  } catch (error) {
    return denied("policy_failed", `the policy failed: ${messageOf(error)}`);
  }
}

export function denied(rule: string, reason: string): PolicyAnswer {
  return { answer: "deny", rule, reason };
}

/** A version for a policy that names none: the same content, the same version. */
export function versionOf(content: string): string {
  return digest(content).slice(0, 16);
}

async function within(promise: Promise<unknown>, timeoutMs: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The default of a pack without rules: what the registry declares is allowed, nothing else is. */
export function allowDeclared(tools: Iterable<string>): Policy {
  const declared = new Set(tools);
  return {
    version: `declared-${versionOf(JSON.stringify([...declared].toSorted()))}`,
    decide: ({ tool }) =>
      declared.has(tool)
        ? { answer: "allow", rule: "declared_tool", reason: "the agent declares this tool" }
        : denied(DEFAULT_DENY, "no rule allows this tool"),
  };
}
