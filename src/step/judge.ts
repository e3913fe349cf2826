/**
 * From a journaled decision to the end of its step: check, permit, act, record, verify. A
 * redelivered step comes here again with the same decision and goes on at the first thing that is
 * not on disk.
 */
import { check, type PreparedCall, type Ruling } from "../core/check.ts";
import { unreachable } from "../core/errors.ts";
import type { Turn } from "../core/run-state.ts";
import { stop } from "../core/stop.ts";
import { act } from "./act.ts";
import { askApproval } from "./ask-approval.ts";
import { askPolicy } from "./ask-policy.ts";
import { end, endWith, finish, type Finished } from "./finish.ts";
import { record, type StepDeps, type Work } from "./work.ts";

export async function judge(deps: StepDeps, work: Work, turn: Turn): Promise<Finished> {
  const ruling = check(work.state, turn, work.agent, deps.now());
  switch (ruling.do) {
    case "act":
      return permitAndAct(deps, work, ruling.call);
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

async function permitAndAct(deps: StepDeps, work: Work, call: PreparedCall): Promise<Finished> {
  if (work.state.turn?.permission?.callId !== call.id) {
    const permission = await askPolicy(deps, work, call, false);
    record(work, deps.now(), { type: "permitted", permission });
  }
  const { answer, rule, reason } = work.state.turn?.permission ?? {
    answer: "deny",
    rule: "",
    reason: "",
  };
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
