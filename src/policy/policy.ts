/**
 * The policy layer's contract: every call is allowed, needs a person, or is denied, by a named
 * rule. Fails closed: an answer that is odd, thrown, or never comes is a denial, never a crash.
 */
import { z } from "zod";
import type { JsonObject } from "../core/json.ts";
import { messageOf } from "../core/errors.ts";

export interface PermitRequest {
  readonly runId: string;
  readonly agent: string;
  readonly tool: string;
  readonly effect: "read" | "write";
  readonly args: JsonObject;
  /** Trusted: from the ticket and the run, never from the model. */
  readonly ticketId: string;
  readonly customerId: string | null;
  readonly facts: JsonObject;
}

/** Whatever a policy gives back; only the exact shape of `answerSchema` is believed. */
export interface Policy {
  readonly decide: (request: PermitRequest) => unknown;
}

const answerSchema = z.strictObject({
  answer: z.enum(["allow", "require_approval", "deny"]),
  rule: z.string().min(1),
  reason: z.string(),
});
export type PolicyAnswer = z.infer<typeof answerSchema>;

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
    return deny("policy_answer_invalid", "the policy gave no valid answer");
  } catch (error) {
    return deny("policy_failed", `the policy failed: ${messageOf(error)}`);
  }
}

function deny(rule: string, reason: string): PolicyAnswer {
  return { answer: "deny", rule, reason };
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
    decide: ({ tool }) =>
      declared.has(tool)
        ? { answer: "allow", rule: "declared_tool", reason: "the agent declares this tool" }
        : deny("default_deny", "no rule allows this tool"),
  };
}
