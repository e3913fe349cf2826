/**
 * Parks the run with the exact effect that a person is asked for. The approval is bound to the
 * arguments' hash, the policy's version and what the run had heard from the customer by then.
 */
import { canonicalJson, digest } from "../core/call-key.ts";
import { stop } from "../core/stop.ts";
import type { TerminalRuling } from "../core/terminal.ts";
import { policyOf, policyVersion } from "./ask-policy.ts";
import { end, finish, type Finished } from "./finish.ts";
import { record, type StepDeps, type Work } from "./work.ts";

type Asked = Extract<TerminalRuling, { do: "ask_approval" }>;

export async function askApproval(deps: StepDeps, work: Work, asked: Asked): Promise<Finished> {
  const { call, tool, args, key } = asked;
  const permission = work.state.turn?.permission;
  if (permission?.callId !== call.id) throw new Error("an effect was asked for unpermitted");
  if (permission.answer === "deny") {
    const detail = `${permission.rule}: ${permission.reason}`;
    return end(deps, work, { stop: stop("denied", "policy_denied", detail) });
  }
  await deps.reach?.("before_act", work.job);
  const requestedAt = deps.now();
  const expiresAt = requestedAt + asked.expiresMs;
  const approval = {
    id: `${work.state.id}-a${work.state.approvals.length + 1}`,
    step: work.state.step,
    callId: call.id,
    terminal: call.tool,
    tool: tool.name,
    args,
    argsHash: digest(canonicalJson(args)),
    key,
    policyVersion: policyVersion(policyOf(deps, work)),
    heard: work.state.heard,
    requestedAt,
    expiresAt,
    status: "pending" as const,
    by: null,
    note: null,
  };
  record(work, requestedAt, { type: "approval_requested", approval });
  record(work, requestedAt, { type: "parked", for: "approval", until: expiresAt });
  await deps.reach?.("after_act", work.job);
  return finish(deps, work);
}
