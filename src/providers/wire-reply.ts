/**
 * A body of either OpenAI wire, read once into core's words: tolerant of what real servers send,
 * strict on what may be executed. The finish says how the reply ended; the core never executes one
 * that did not end normally.
 */
import { z } from "zod";
import type { Usage } from "../core/decision.ts";
import type { JsonObject } from "../core/json.ts";
import { classify, type WireFault } from "./wire-errors.ts";
import { readUsage, unknownUsage } from "./wire-usage.ts";

export type WireApi = "responses" | "chat";

/** One call as the wire had it; the id is the server's, or made where it left it out. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** Text of the arguments, byte for byte. */
  readonly args: string;
}

export interface WireReply {
  readonly finish: string;
  readonly text: string | null;
  readonly calls: readonly WireCall[];
  readonly usage: Usage | null;
  /** The block as it came, where it tells of something that `usage` does not. */
  readonly rawUsage: JsonObject | null;
  /** As the server names them; null where it does not. */
  readonly model: string | null;
  readonly serviceTier: string | null;
  /** The items of a response in order: reasoning must travel with its calls. */
  readonly items: readonly unknown[];
}

export type ReadReply =
  | { readonly ok: true; readonly reply: WireReply }
  | { readonly ok: false; readonly fault: WireFault; readonly usage: Usage | null };

/** Takes a parsed body of a 200; `now` is ms since epoch. */
export function readReply(api: WireApi, body: unknown, now: number): ReadReply {
  return api === "chat" ? readChat(body, now) : readResponse(body, now);
}

const text = z.string().nullish();

const messageSchema = z.object({
  content: z.union([z.string(), z.array(z.looseObject({ text }))]).nullish(),
  refusal: text,
  tool_calls: z
    .array(
      z.object({
        id: text,
        function: z.object({ name: z.string(), arguments: z.unknown().optional() }).optional(),
      }),
    )
    .nullish(),
});

const chatSchema = z.object({
  model: text,
  service_tier: text,
  choices: z.array(z.object({ finish_reason: text, message: messageSchema })).min(1),
  usage: z.unknown().optional(),
});

function readChat(body: unknown, now: number): ReadReply {
  const parsed = chatSchema.safeParse(body);
  if (!parsed.success) return noReply(body, now);
  const { choices, model, service_tier: tier, usage } = parsed.data;
  const [choice] = choices;
  if (choice === undefined) return noReply(body, now);
  const { message, finish_reason: reason } = choice;
  const calls = (message.tool_calls ?? []).map((call, i) => ({
    id: call.id || `call_${i + 1}`,
    name: call.function?.name ?? "",
    args: argsText(call.function?.arguments),
  }));
  const refusal = message.refusal || null;
  const content =
    typeof message.content === "string"
      ? message.content
      : (message.content ?? []).map((part) => part.text ?? "").join("");
  return {
    ok: true,
    reply: {
      finish: refusal === null ? chatFinish(reason ?? null, calls.length > 0) : "refusal",
      text: refusal ?? (content || null),
      calls,
      usage: readUsage(usage),
      rawUsage: unknownUsage(usage),
      model: model ?? null,
      serviceTier: tier ?? null,
      items: [],
    },
  };
}

/** Some servers say `stop` beside calls. */
function chatFinish(reason: string | null, hasCalls: boolean): string {
  const isNormal = reason === "stop" || reason === "tool_calls";
  if (isNormal) return hasCalls ? "tool_calls" : "stop";
  return reason || "unknown";
}

const responseSchema = z.object({
  model: text,
  service_tier: text,
  status: text,
  incomplete_details: z.object({ reason: text }).nullish(),
  error: z.unknown().optional(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: z.unknown().optional(),
});

const callItemSchema = z.object({
  call_id: text,
  name: z.string(),
  arguments: z.unknown().optional(),
});
const messageItemSchema = z.object({
  content: z.array(z.looseObject({ type: z.string(), text, refusal: text })),
});

function readResponse(body: unknown, now: number): ReadReply {
  const parsed = responseSchema.safeParse(body);
  if (!parsed.success) return noReply(body, now);
  const { output, status, incomplete_details: cut, model, service_tier: tier } = parsed.data;
  const usage = readUsage(parsed.data.usage);
  // A failed response comes with status 200; one that is still queued is no reply yet.
  const isDone = status === "completed" || status === "incomplete" || !status;
  if (!isDone) {
    const { fault } = noReply({ error: parsed.data.error ?? { code: "server_error" } }, now);
    return { ok: false, fault: { ...fault, fate: usage === null ? "unknown" : "reported" }, usage };
  }
  const calls = output
    .filter((item) => item.type === "function_call")
    .flatMap((item) => callItemSchema.safeParse(item).data ?? [])
    .map((call, i) => ({
      id: call.call_id || `call_${i + 1}`,
      name: call.name,
      args: argsText(call.arguments),
    }));
  const parts = output
    .filter((item) => item.type === "message")
    .flatMap((item) => messageItemSchema.safeParse(item).data?.content ?? []);
  const refusal = parts.map((part) => part.refusal ?? "").join("");
  const said = parts.map((part) => part.text ?? "").join("");
  const finish = status === "incomplete" ? cutFinish(cut?.reason ?? null) : "completed";
  return {
    ok: true,
    reply: {
      finish: refusal === "" ? finish : "refusal",
      text: refusal || said || null,
      calls,
      usage,
      rawUsage: unknownUsage(parsed.data.usage),
      model: model ?? null,
      serviceTier: tier ?? null,
      items: output,
    },
  };
}

function cutFinish(reason: string | null): string {
  return reason === "max_output_tokens" ? "length" : reason || "unknown";
}

/** Some servers give an object in place of its text; then its text is what they meant. */
function argsText(args: unknown): string {
  if (typeof args === "string") return args;
  return args === null || args === undefined ? "" : JSON.stringify(args);
}

function noReply(body: unknown, now: number): Extract<ReadReply, { ok: false }> {
  const usage = readUsage(z.object({ usage: z.unknown().optional() }).safeParse(body).data?.usage);
  const fault = classify({ status: 200, headers: {}, body }, now);
  return { ok: false, fault: usage === null ? fault : { ...fault, fate: "reported" }, usage };
}
