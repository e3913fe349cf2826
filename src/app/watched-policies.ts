/**
 * The policies of a worker, watched: what their texts warn of is logged at the start, and where a
 * shadow differs from the enforced policy a line says so. Neither changes an answer.
 */
import type { AgentPack } from "../agents/agent.ts";
import { withShadow } from "../policy/shadow.ts";
import type { Logger } from "../telemetry/log.ts";

export function watchPolicies(
  packs: ReadonlyMap<string, AgentPack>,
  logger: Pick<Logger, "warn">,
): ReadonlyMap<string, AgentPack> {
  for (const { name, policy, shadow } of packs.values()) {
    for (const warning of policy.warnings ?? []) warn(logger, { agent: name, warning });
    for (const warning of shadow?.warnings ?? []) {
      warn(logger, { agent: name, shadow: true, warning });
    }
  }
  return new Map([...packs].map(([name, pack]) => [name, shadowed(pack, logger)]));
}

function shadowed(pack: AgentPack, logger: Pick<Logger, "warn">): AgentPack {
  if (pack.shadow === null) return pack;
  const policy = withShadow(pack.policy, pack.shadow, (difference) => {
    const { runId, ticketId, agent, tool, enforced, shadow } = difference;
    // The reasons stay out: a rule's words may quote what it was asked about.
    const answers = { enforced: told(enforced), shadow: told(shadow) };
    logger.warn({ run: runId, ticket: ticketId, agent, tool, ...answers }, "shadow policy differs");
  });
  return { ...pack, policy };
}

function told({ answer, rule }: { readonly answer: string; readonly rule: string }) {
  return { answer, rule };
}

function warn(logger: Pick<Logger, "warn">, line: object): void {
  logger.warn(line, "policy warning");
}
