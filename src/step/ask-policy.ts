/** Puts a call before the policy with the trusted context of the run; the answer is journaled. */
import type { PreparedCall } from "../core/check.ts";
import type { Permission } from "../core/approval.ts";
import { permit, type Policy } from "../policy/policy.ts";
import type { StepDeps, Work } from "./work.ts";

/** What an approval binds to; a policy that does not say is one version for ever. */
export function policyVersion(policy: Policy & { readonly version?: string | undefined }): string {
  return policy.version ?? "1";
}

export function policyOf(deps: StepDeps, work: Work): Policy {
  return deps.policy ?? work.agent.policy;
}

/** `isApproved`: a person has said yes to exactly this call. */
export async function askPolicy(
  deps: StepDeps,
  work: Work,
  call: Pick<PreparedCall, "id" | "tool" | "args">,
  isApproved: boolean,
): Promise<Permission> {
  const { id: runId, ticket, facts, spent, calls } = work.state;
  const customerId = ticket.customer?.id ?? null;
  const customerEffects = await effectsOfCustomer(deps, call, customerId);
  const request = {
    runId,
    agent: work.agent.name,
    tool: call.tool.name,
    effect: call.tool.effect,
    args: call.args,
    ticketId: ticket.id,
    customerId,
    ticket: { id: ticket.id, customerId, attributes: ticket.attributes },
    facts: Object.fromEntries(facts.map((fact) => [fact.key, fact.value])),
    approved: isApproved,
    spent,
    effectsOfRun: calls.filter((c) => c.effect === "write" && c.outcome === "succeeded").length,
    ...(customerEffects === null ? {} : { effectsOfCustomer: customerEffects }),
  };
  const answer = await permit(policyOf(deps, work), request);
  return { callId: call.id, ...answer, ...(customerEffects === null ? {} : { customerEffects }) };
}

/**
 * One round trip, for writes alone. The intent is refused if another run adds an effect meanwhile.
 */
async function effectsOfCustomer(
  deps: StepDeps,
  call: { readonly tool: Pick<PreparedCall["tool"], "effect"> },
  customerId: string | null,
): Promise<number | null> {
  if (call.tool.effect !== "write" || customerId === null) return null;
  return deps.ledger.countOf(customerId);
}
