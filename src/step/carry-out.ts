/**
 * Carries out an effect that a person approved: everything is checked again first (arguments, what
 * the customer said since, policy, evidence), then it runs once under its key and is confirmed by
 * the provider's own result. A job of its own, and no counted step.
 */
import { canonicalJson } from "../core/call-key.ts";
import type { Expectation } from "../core/decision.ts";
import { parseEvent, type Event } from "../core/event.ts";
import { renderTemplate } from "../core/evidence.ts";
import { replay } from "../core/reduce.ts";
import type { Approval, Permission } from "../core/approval.ts";
import { stop } from "../core/stop.ts";
import type { CallResult } from "../tools/run-call.ts";
import type { Tool } from "../tools/tool.ts";
import { finishCut, intend, perform, recordResult, recordVerdict, type Action } from "./act.ts";
import { askPolicy, policyOf, policyVersion } from "./ask-policy.ts";
import { end, endWith, goOn, type Finished } from "./finish.ts";
import { rereadEvidence } from "./reread-evidence.ts";
import { record, type StepDeps, type Work } from "./work.ts";

/** `confirm` of the tool has accepted the result already; only its facts are taken. */
const ACCEPTED: Expectation = { fields: [{ pointer: "", check: "exists" }] };

export async function carryOut(deps: StepDeps, work: Work, approval: Approval): Promise<Finished> {
  const tool = work.agent.effects.get(approval.tool);
  if (tool === undefined) return voided(deps, work, approval, "the agent has no such effect now");
  const call = { id: approval.callId, tool, args: approval.args, key: approval.key };
  const isIntended = work.state.calls.some((c) => c.id === call.id);
  const checked = isIntended ? null : await checkAgain(deps, work, approval, tool);
  if (typeof checked === "string" || (checked !== null && "delayMs" in checked)) return checked;
  const action = await intend(deps, work, call, { tool, permission: checked });
  if (typeof action === "string") return action;
  await deps.reach?.("before_act", work.job);
  const result = await perform(deps, work, action);
  if (result === "late" || result === "cancelled") {
    return finishCut(deps, work, { action, expected: ACCEPTED }, result);
  }
  await deps.reach?.("after_act", work.job);
  return confirm(deps, work, { action, approval }, result);
}

/** The permission, if all is as it was when the person said yes. */
async function checkAgain(
  deps: StepDeps,
  work: Work,
  approval: Approval,
  tool: Tool,
): Promise<Permission | Finished> {
  const journal = (await deps.store.events(work.state.id)).map(parseEvent);
  const told = journaledApproval(work, journal);
  if (told === null || canonicalJson(told) !== canonicalJson(approval)) {
    return voided(deps, work, approval, "it is not what the journal says was asked and approved");
  }
  if (approval.heard < work.state.heard) {
    return voided(deps, work, approval, "the customer wrote after it was asked for");
  }
  if (approval.policyVersion !== policyVersion(policyOf(deps, work))) {
    return voided(deps, work, approval, "the policy is another one now");
  }
  const call = { id: approval.callId, tool, args: approval.args };
  const permission = await askPolicy(deps, work, call, true);
  record(work, deps.now(), { type: "permitted", permission });
  if (permission.answer === "deny") {
    settle(deps, work, approval, { status: "void", why: permission.rule });
    const detail = `${permission.rule}: ${permission.reason}`;
    return end(deps, work, { stop: stop("denied", "policy_denied", detail) });
  }
  const changed = await rereadEvidence(deps, work, approval, journal);
  if (changed === null) return permission;
  settle(deps, work, approval, { status: "void", why: changed.detail });
  return end(deps, work, { stop: changed });
}

/**
 * The approval as the journal tells it, the person's decision included. A snapshot that was changed
 * from outside cannot approve itself: the journal is what happened.
 */
function journaledApproval(work: Work, saved: readonly Event[]): Approval | null {
  return replay([...saved, ...work.events]).pending;
}

/** Nothing happened, and the approval is no more; the model decides anew with what is known now. */
function voided(deps: StepDeps, work: Work, approval: Approval, why: string): Promise<Finished> {
  settle(deps, work, approval, { status: "void", why });
  return goOn(deps, work);
}

function settle(
  deps: StepDeps,
  work: Work,
  approval: Approval,
  settled: { readonly status: "void" | "used"; readonly why: string },
): void {
  record(work, deps.now(), { type: "approval_settled", approvalId: approval.id, ...settled });
}

async function confirm(
  deps: StepDeps,
  work: Work,
  done: { readonly action: Action; readonly approval: Approval },
  result: CallResult,
): Promise<Finished> {
  const { action, approval } = done;
  await recordResult(deps, work, action, result);
  settle(deps, work, approval, { status: "used", why: result.outcome });
  if (result.outcome === "unknown") {
    const detail = `${action.tool.name}: ${result.message}, and nobody can say whether it happened`;
    return end(deps, work, { stop: stop("handoff", "effect_unknown", detail) });
  }
  if (result.outcome === "failed") return goOn(deps, work);
  const { verdict, why } = recordVerdict(deps, work, { action, expected: ACCEPTED }, result.value);
  if (verdict !== "confirmed") {
    const detail = `${action.tool.name}: its confirmation is of something else: ${why.join("; ")}`;
    return end(deps, work, { stop: stop("handoff", "effect_unknown", detail) });
  }
  return confirmed(deps, work, done);
}

function confirmed(
  deps: StepDeps,
  work: Work,
  { action, approval }: { readonly action: Action; readonly approval: Approval },
): Promise<Finished> {
  const message = messageOf(work);
  if (message !== null) {
    const id = `m${work.state.outward.length + 1}`;
    const { step } = work.state;
    record(work, deps.now(), {
      type: "sent",
      message: { id, kind: "answer", step, text: message },
    });
  }
  const found = stop("completed", "effect_confirmed", `${action.tool.name} was confirmed`);
  const claims = work.state.facts
    .filter((fact) => fact.callId === action.call.id)
    .map(({ id, key, value }) => ({ factId: id, key, value }));
  const outcome = {
    kind: "effect" as const,
    approvalId: approval.id,
    tool: action.tool.name,
    callId: action.call.id,
    claims,
    message,
  };
  return endWith(deps, work, found, { outcome });
}

/** A message with a fact missing is not sent: it would say less than it promises. */
function messageOf(work: Work): string | null {
  if (work.agent.effectMessage === null) return null;
  const { text, unknown } = renderTemplate(work.agent.effectMessage, work.state);
  return unknown.length > 0 ? null : text;
}
