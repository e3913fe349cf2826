/**
 * A written-down turn as the body that a server of either wire would send, so that the same case
 * runs through the real client: what the adapter reads from it is what the script says.
 */
import { NORMAL_FINISHES } from "../core/decision.ts";
import type { JsonObject } from "../core/json.ts";
import { writeWireArguments } from "./openai-args.ts";
import { EXPECTED_KEY, REASON_KEY } from "./openai-schema.ts";
import type { ScriptedTurn } from "./turn-script.ts";
import type { WireApi } from "./wire-reply.ts";

export interface RenderOptions {
  readonly model: string;
  /** Of the run, from 0: ids are made of it. */
  readonly turn: number;
  /** False: nobody counts tokens, so a turn without usage says that there was none. */
  readonly counts: boolean;
}

export function scriptedBody(api: WireApi, turn: ScriptedTurn, options: RenderOptions): JsonObject {
  return api === "chat" ? chatReply(turn, options) : responseReply(turn, options);
}

type ScriptedCall = ScriptedTurn["calls"][number];

function wireArguments({ args, rawArgs, reason, expected }: ScriptedCall): string {
  return writeWireArguments(rawArgs ?? JSON.stringify(args ?? {}), {
    ...(reason === undefined ? {} : { [REASON_KEY]: reason }),
    ...(expected === undefined ? {} : { [EXPECTED_KEY]: expected }),
  });
}

function chatReply(turn: ScriptedTurn, options: RenderOptions): JsonObject {
  const { finish, calls } = turn;
  const isNormal = finish === undefined || NORMAL_FINISHES.includes(finish);
  const isRefusal = finish === "refusal";
  const toolCalls = calls.map((call, i) => ({
    id: callId(options, i),
    type: "function",
    function: { name: call.tool, arguments: wireArguments(call) },
  }));
  const message = {
    role: "assistant",
    content: isRefusal ? null : (turn.text ?? null),
    refusal: isRefusal ? (turn.text ?? "refused") : null,
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  const normal = calls.length > 0 ? "tool_calls" : "stop";
  const reason = isNormal || isRefusal ? normal : finish;
  const usage = usageOf(turn, options.counts);
  return {
    id: `chatcmpl-${options.turn}`,
    object: "chat.completion",
    model: options.model,
    choices: [{ index: 0, finish_reason: reason, message }],
    ...(usage === null
      ? {}
      : {
          usage: {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input + usage.output,
            prompt_tokens_details: {
              cached_tokens: usage.cached,
              cache_write_tokens: usage.cacheWrite,
            },
            completion_tokens_details: { reasoning_tokens: usage.reasoning },
          },
        }),
  };
}

function responseReply(turn: ScriptedTurn, options: RenderOptions): JsonObject {
  const { finish, calls, text = null } = turn;
  const isNormal = finish === undefined || NORMAL_FINISHES.includes(finish);
  const isRefusal = finish === "refusal";
  const said = isRefusal
    ? { type: "refusal", refusal: text ?? "refused" }
    : { type: "output_text", text: text ?? "", annotations: [] };
  const message = {
    type: "message",
    id: `msg_${options.turn}`,
    role: "assistant",
    status: "completed",
    content: [said],
  };
  const reasoning = {
    type: "reasoning",
    id: `rs_${options.turn}`,
    summary: [],
    encrypted_content: "c2VhbGVk",
  };
  const isWhole = isNormal || isRefusal;
  const cut = finish === "length" ? "max_output_tokens" : finish;
  const usage = usageOf(turn, options.counts);
  return {
    id: `resp_${options.turn}`,
    object: "response",
    model: options.model,
    status: isWhole ? "completed" : "incomplete",
    incomplete_details: isWhole ? null : { reason: cut ?? "unknown" },
    output: [
      ...(calls.length > 0 ? [reasoning] : []),
      ...(text !== null || isRefusal ? [message] : []),
      ...calls.map((call, i) => ({
        type: "function_call",
        id: `fc_${options.turn}_${i}`,
        call_id: callId(options, i),
        name: call.tool,
        arguments: wireArguments(call),
        status: "completed",
      })),
    ],
    ...(usage === null
      ? {}
      : {
          usage: {
            input_tokens: usage.input,
            output_tokens: usage.output,
            total_tokens: usage.input + usage.output,
            input_tokens_details: {
              cached_tokens: usage.cached,
              cache_write_tokens: usage.cacheWrite,
            },
            output_tokens_details: { reasoning_tokens: usage.reasoning },
          },
        }),
  };
}

function callId({ turn }: RenderOptions, index: number): string {
  return `call_${turn}_${index}`;
}

function usageOf({ usage }: ScriptedTurn, counts: boolean) {
  if (!usage && counts) return null;
  const { input = 0, cached = 0, cacheWrite = 0, output = 0, reasoning = 0 } = usage ?? {};
  return { input, cached, cacheWrite, output, reasoning };
}
