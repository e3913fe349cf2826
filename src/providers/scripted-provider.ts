/**
 * A model whose replies are written down: for cases, scenarios and the benchmark. It decides
 * nothing; which reply comes is said by the number of decisions so far, so a lost reply is served
 * again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { NO_USAGE, type RawArguments } from "../core/decision.ts";
import { readJson } from "../core/json.ts";
import { ProviderFault, type ModelCall, type ModelReply, type Provider } from "./provider.ts";
import { countContext, estimateContext, loadTokenizer } from "./tokens.ts";
import type { ReplySource, ScriptedModel, ScriptedTurn } from "./turn-script.ts";

export function createScriptedProvider(model: ScriptedModel, source: ReplySource): Provider {
  return {
    model: model.name,
    price: model.price,
    async countInput(request) {
      const written = source.turn(request.turn)?.usage?.input;
      if (written !== undefined) return { tokens: written, isMetered: true };
      if (!model.counts) return { tokens: estimateContext(request), isMetered: false };
      return { tokens: countContext(request, await loadTokenizer()), isMetered: true };
    },
    async decide(request, signal) {
      const turn = source.turn(request.turn);
      if (turn === null) {
        await source.ranOut(request);
        throw new ProviderFault("the script has no reply left", "final");
      }
      await source.served(request);
      if ((turn.delayMs ?? 0) > 0) await pause(turn.delayMs, undefined, { signal });
      return replyOf(turn, model.counts);
    },
  };
}

function replyOf(turn: ScriptedTurn, counts: boolean): ModelReply {
  return {
    finish: turn.finish ?? (turn.calls.length > 0 ? "tool_calls" : "stop"),
    text: turn.text ?? null,
    calls: turn.calls.map(callOf),
    // Nothing counted and nothing paid: not "missing", which would settle at the reservation.
    usage: turn.usage ? { ...NO_USAGE, ...turn.usage } : counts ? null : NO_USAGE,
  };
}

function callOf(call: ScriptedTurn["calls"][number]): ModelCall {
  return {
    tool: call.tool,
    args: argumentsOf(call),
    reason: call.reason ?? "",
    expected: call.expected ?? null,
  };
}

/** An in-process caller can bring anything; what is not JSON is told as such, never guessed. */
function argumentsOf(call: ScriptedTurn["calls"][number]): RawArguments {
  if (call.rawArgs !== undefined) return { text: call.rawArgs };
  if (call.args === undefined) return { json: {} };
  const json = readJson(call.args);
  return json.ok ? { json: json.value } : { notJson: `${json.path || "/"} is a ${json.kind}` };
}
