/**
 * From a decision to the end of its step: check, permit, journal, act, record, verify. Decision and
 * permission are on disk before anything acts on them: a crash later neither pays for the one nor
 * asks for the other again. A redelivered step comes here with both and goes on from there.
 */
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { Permission } from "../core/approval.ts";
import { check, type PreparedCall, type Ruling } from "../core/check.ts";
import { unreachable } from "../core/errors.ts";
import type { Turn } from "../core/run-state.ts";
import { stop } from "../core/stop.ts";
import { act } from "./act.ts";
import { askApproval } from "./ask-approval.ts";
import { askPolicy } from "./ask-policy.ts";
import { end, endWith, finish, type Finished } from "./finish.ts";
import { journal, record, type StepDeps, type Work } from "./work.ts";

export async function judge(deps: StepDeps, work: Work, turn: Turn): Promise<Finished> {
  const ruling = check(work.state, turn, work.agent, deps.now());
  if (ruling.do === "act" || ruling.do === "ask_approval") {
    if ((await permitOnce(deps, work, ruling)) === "lost") return "lost";
  }
  const isFresh = work.events.slice(work.journaled).some((event) => event.type === "decided");
  if ((await journal(deps, work)) === "lost") return "lost";
  if (isFresh) await deps.reach?.("after_journal", work.job);
  return carryOn(deps, work, ruling);
}

function carryOn(deps: StepDeps, work: Work, ruling: Ruling): Promise<Finished> {
  switch (ruling.do) {
    case "act":
      return actIfAllowed(deps, work, ruling.call);
    case "refuse":
      record(work, deps.now(), {
        type: "refused",
        callId: ruling.call.id,
        tool: ruling.call.tool,
        code: ruling.code,
        terminal: ruling.terminal,
        message: ruling.message,
      });
      return finish(deps, work);
    case "nudge":
      record(work, deps.now(), { type: "nudged" });
      return finish(deps, work);
    case "send_back":
      record(work, deps.now(), {
        type: "sent_back",
        callId: ruling.call.id,
        code: ruling.code,
        unsupported: [...ruling.unsupported],
      });
      return finish(deps, work);
    case "stale": {
      const why = "the customer wrote after this was decided";
      record(work, deps.now(), { type: "not_executed", calls: [ruling.call], why });
      return finish(deps, work);
    }
    case "stop":
      return end(deps, work, {
        stop: ruling.stop,
        earlierStep: "earlierStep" in ruling ? ruling.earlierStep : undefined,
      });
    case "ask_approval":
      return askApproval(deps, work, ruling);
    case "answer":
    case "question":
    case "handoff":
      return close(deps, work, ruling);
    default:
      return unreachable(ruling, "ruling");
  }
}

type Permitted = Extract<Ruling, { do: "act" | "ask_approval" }>;

/**
 * Asks the policy once for a call. A policy in this process has answered within one turn of the
 * event loop, and its answer is written together with the decision; a slower one gets a write of
 * its own, since a paid decision must not wait for it.
 */
async function permitOnce(
  deps: StepDeps,
  work: Work,
  ruling: Permitted,
): Promise<"permitted" | "lost"> {
  if (permissionOf(work, ruling.call.id) !== null) return "permitted";
  const tool = ruling.do === "act" ? ruling.call.tool : ruling.tool;
  const { args } = ruling.do === "act" ? ruling.call : ruling;
  const asking = askPolicy(deps, work, { id: ruling.call.id, tool, args }, false);
  const first = await Promise.race([asking, turnOfTheLoop(null)]);
  if (first === null && (await journal(deps, work)) === "lost") return "lost";
  record(work, deps.now(), { type: "permitted", permission: first ?? (await asking) });
  return "permitted";
}

function permissionOf(work: Work, callId: string): Permission | null {
  const permission = work.state.turn?.permission ?? null;
  return permission?.callId === callId ? permission : null;
}

async function actIfAllowed(deps: StepDeps, work: Work, call: PreparedCall): Promise<Finished> {
  const permission = permissionOf(work, call.id);
  if (permission === null) throw new Error("a call came to act without a permission");
  const { answer, rule, reason } = permission;
  if (answer === "allow") return act(deps, work, call);
  // Without a way to ask a person, a call that needs one is not made.
  const detail = answer === "deny" ? reason : `needs an approval: ${reason}`;
  return end(deps, work, { stop: stop("denied", "policy_denied", `${rule}: ${detail}`) });
}

type Closing = Extract<Ruling, { do: "answer" | "question" | "handoff" }>;

/**
 * The act of a terminal is its message: it leaves with the save, and only if nobody wrote
 * meanwhile.
 */
async function close(deps: StepDeps, work: Work, ruling: Closing): Promise<Finished> {
  await deps.reach?.("before_act", work.job);
  const send = (kind: "answer" | "question" | "handoff", text: string): void => {
    const id = `m${work.state.outward.length + 1}`;
    const message = { id, kind, step: work.state.step, text };
    record(work, deps.now(), { type: "sent", message });
  };
  switch (ruling.do) {
    case "answer": {
      send("answer", ruling.message);
      await deps.reach?.("after_act", work.job);
      const found = stop("completed", "answered", "every claim is a fact and the goal holds");
      const outcome = {
        kind: "answer" as const,
        message: ruling.message,
        claims: [...ruling.claims],
      };
      return endWith(deps, work, found, { outcome });
    }
    case "question": {
      send("question", ruling.question);
      const until = deps.now() + work.agent.replyMs;
      record(work, deps.now(), { type: "parked", for: "user_reply", until });
      await deps.reach?.("after_act", work.job);
      return finish(deps, work, null, { isOutward: true });
    }
    case "handoff": {
      if (ruling.customerMessage !== null) send("handoff", ruling.customerMessage);
      await deps.reach?.("after_act", work.job);
      const found = stop("handoff", "requested", "the model asked for a person");
      const { summary, customerMessage } = ruling;
      return end(deps, work, { stop: found, text: { summary, customerMessage } });
    }
    default:
      return unreachable(ruling, "closing");
  }
}
