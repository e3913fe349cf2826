/**
 * Shadow mode: a second policy is asked about every call and only its differences are told. The
 * enforced policy's answer is given as it is and as soon as it is there, whatever the other does.
 */
import { setImmediate as turn } from "node:timers/promises";
import { permit, type PermitRequest, type Policy, type PolicyAnswer } from "./policy.ts";

/** Names and ids only: arguments and facts may be a customer's. */
export interface PolicyDifference {
  readonly runId: string;
  readonly ticketId: string;
  readonly agent: string;
  readonly tool: string;
  readonly enforced: PolicyAnswer;
  readonly shadow: PolicyAnswer;
}

export type OnDifference = (difference: PolicyDifference) => void | Promise<void>;

/**
 * Approvals bind to the enforced policy's version. `onDifference` hears of every call that the two
 * answer differently (another rule with the same answer is none); what it throws is dropped.
 */
export function withShadow(enforced: Policy, shadow: Policy, onDifference: OnDifference): Policy {
  return {
    ...(enforced.version === undefined ? {} : { version: enforced.version }),
    ...(enforced.warnings === undefined ? {} : { warnings: enforced.warnings }),
    decide(request) {
      const answer = permit(enforced, request);
      void compare(shadow, request, { answer, onDifference });
      return answer;
    },
  };
}

/** Never rejects: nobody waits for it. */
async function compare(
  shadow: Policy,
  request: PermitRequest,
  first: {
    readonly answer: Promise<PolicyAnswer>;
    readonly onDifference: OnDifference;
  },
): Promise<void> {
  try {
    const enforced = await first.answer;
    // A turn later: the run goes on first, so that a slow shadow does not hold up its call.
    await turn();
    // A copy: a policy on trial must not be able to change the call that is made.
    const second = await permit(shadow, structuredClone(request));
    if (enforced.answer === second.answer) return;
    const { runId, ticketId, agent, tool } = request;
    await first.onDifference({ runId, ticketId, agent, tool, enforced, shadow: second });
  } catch {
    // The report is lost; the decision stands.
  }
}
