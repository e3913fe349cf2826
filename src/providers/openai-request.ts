/**
 * A request of ours as the bodies of the two OpenAI wires. Stateless: nothing is stored there, all
 * of the context is in the body. The list of tools never changes within a run, so that a prompt
 * cache holds; what may be called is said beside it.
 */
import type { ContextCall, ContextMessage } from "../core/context.ts";
import type { JsonObject } from "../core/json.ts";
import type { ModelRequest } from "./provider.ts";
import { EXPECTED_KEY, REASON_KEY, wireTool, type WireTool } from "./openai-schema.ts";
import { itemsOfCalls, type KeptItems } from "./openai-items.ts";
import { writeWireArguments } from "./openai-args.ts";

export interface WireOptions {
  /** Null: the server is not told; compatible ones do not know tiers. */
  readonly serviceTier: string | null;
  /** OpenAI's own: knows allowed_tools, prompt_cache_key, max_completion_tokens. */
  readonly isOpenAi: boolean;
}

export function responsesBody(request: ModelRequest, options: WireOptions): JsonObject {
  const { model, instructions, messages, outputCap, cacheKey } = request;
  const kept = itemsOfCalls(messages, request.items, model);
  const { all, allowed } = toolsOf(request, options);
  const functions = all.map((tool) => ({ type: "function", ...tool }));
  const choice =
    allowed === null
      ? "required"
      : { type: "allowed_tools", mode: "required", tools: allowed.map(namedFunction) };
  return {
    model,
    instructions,
    input: messages.flatMap((message) => responseItems(message, kept)),
    tools: functions,
    tool_choice: choice,
    parallel_tool_calls: false,
    max_output_tokens: outputCap,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(options.serviceTier === null ? {} : { service_tier: options.serviceTier }),
    ...(options.isOpenAi ? { prompt_cache_key: cacheKey } : {}),
  };
}

export function chatBody(request: ModelRequest, options: WireOptions): JsonObject {
  const { model, instructions, messages, outputCap, cacheKey } = request;
  const { all, allowed } = toolsOf(request, options);
  const functions = all.map((tool) => ({ type: "function", function: { ...tool } }));
  const choice =
    allowed === null
      ? "required"
      : {
          type: "allowed_tools",
          allowed_tools: {
            mode: "required",
            tools: allowed.map((name) => ({ type: "function", function: { name } })),
          },
        };
  return {
    model,
    messages: [{ role: "system", content: instructions }, ...messages.map(chatMessage)],
    tools: functions,
    tool_choice: choice,
    parallel_tool_calls: false,
    ...(options.isOpenAi
      ? { max_completion_tokens: outputCap, store: false, prompt_cache_key: cacheKey }
      : { max_tokens: outputCap }),
    ...(options.serviceTier === null ? {} : { service_tier: options.serviceTier }),
  };
}

/** The whole list, and which of it may be called; null: all of it. */
function toolsOf(
  { tools, allTools }: ModelRequest,
  { isOpenAi }: WireOptions,
): { readonly all: readonly WireTool[]; readonly allowed: readonly string[] | null } {
  const isNarrowed = tools.length < allTools.length;
  if (!isNarrowed || !isOpenAi) return { all: tools.map(wireTool), allowed: null };
  return { all: allTools.map(wireTool), allowed: tools.map((tool) => tool.name) };
}

function namedFunction(name: string): JsonObject {
  return { type: "function", name };
}

function argumentsOf({ args, reason, expected }: ContextCall): string {
  if (reason === null) return args;
  return writeWireArguments(args, { [REASON_KEY]: reason, [EXPECTED_KEY]: expected });
}

/** A call with what it was made with stands as the server gave it, its id included. */
function responseItems(
  message: ContextMessage,
  kept: ReadonlyMap<string, KeptItems>,
): JsonObject[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: message.text }];
    case "tool": {
      const callId = kept.get(message.callId)?.items.at(-1)?.["call_id"] ?? message.callId;
      return [{ type: "function_call_output", call_id: callId, output: message.text }];
    }
    case "assistant": {
      const { text, calls } = message;
      const isKept = calls.some(({ id }) => kept.has(id));
      const said: JsonObject[] =
        text === null || text === "" || isKept
          ? []
          : [{ type: "message", role: "assistant", content: text }];
      return [
        ...said,
        ...calls.flatMap((call): JsonObject[] => {
          const { id, tool: name } = call;
          const own = { type: "function_call", call_id: id, name, arguments: argumentsOf(call) };
          return kept.get(id)?.items ?? [own];
        }),
      ];
    }
  }
}

function chatMessage(message: ContextMessage): JsonObject {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
    case "assistant": {
      const calls = message.calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.tool, arguments: argumentsOf(call) },
      }));
      // Without calls the list must be left out: an empty one is refused.
      return {
        role: "assistant",
        content: message.text ?? (calls.length > 0 ? null : ""),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      };
    }
  }
}
