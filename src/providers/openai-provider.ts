/**
 * A model behind an OpenAI wire, by the official client: OpenAI itself, Azure's v1 address, and
 * servers that speak the same. One request, one reply; it never retries, since that is the step's.
 */
import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { digest } from "../core/call-key.ts";
import type { JsonObject } from "../core/json.ts";
import type { Price } from "../core/price.ts";
import { readWireArguments } from "./openai-args.ts";
import { classify, type WireFault } from "./wire-errors.ts";
import { readReply, type WireApi, type WireReply } from "./wire-reply.ts";
import { chatBody, responsesBody, type WireOptions } from "./openai-request.ts";
import { wireTool } from "./openai-schema.ts";
import { OPENAI_URL } from "./pricing.ts";
import {
  ProviderFault,
  type Fate,
  type ModelCall,
  type ModelReply,
  type ModelRequest,
  type Provider,
} from "./provider.ts";
import { countContext, loadTokenizer } from "./tokens.ts";
import { NORMAL_FINISHES, type Usage } from "../core/decision.ts";
import { itemsOfCalls, keepItems } from "./openai-items.ts";

export interface OpenAiOptions {
  readonly api: WireApi;
  readonly apiKey: string;
  /** Undefined: OpenAI's own address. */
  readonly baseUrl?: string | undefined;
  readonly model: string;
  /** Undefined: read from the address. */
  readonly dialect?: "openai" | "compatible" | undefined;
  /** Null: it costs nothing. */
  readonly price: Price | null;
  readonly serviceTier: string;
  /** ms since epoch. */
  readonly now: () => number;
}

/** Below the 300 s after which Node's fetch gives up on headers by itself. */
const TIMEOUT_MS = 280_000;

export function createOpenAiProvider(options: OpenAiOptions): Provider {
  const { api, apiKey, baseUrl, model, price, now } = options;
  const client = new OpenAI({
    apiKey,
    baseURL: baseUrl ?? OPENAI_URL,
    maxRetries: 0,
    timeout: TIMEOUT_MS,
    logLevel: "off",
  });
  const { dialect = isOwn(baseUrl) ? "openai" : "compatible" } = options;
  const isOpenAi = dialect === "openai";
  const wire: WireOptions = { isOpenAi, serviceTier: isOpenAi ? options.serviceTier : null };
  return {
    model,
    price,
    // Twelve characters tell two keys apart and nobody what they are.
    gate: digest(`${baseUrl ?? OPENAI_URL} ${model} ${apiKey}`).slice(0, 12),
    async countInput(request) {
      // Counted as they leave: with the schemas of our own keys.
      const allTools = request.allTools.map((tool) => {
        const { name, description, parameters } = wireTool(tool);
        return { name, description, input: parameters, isTerminal: tool.isTerminal };
      });
      const shown = [...itemsOfCalls(request.messages, request.items, model).values()];
      const kept = api === "chat" ? 0 : shown.reduce((sum, { tokens }) => sum + tokens, 0);
      const tokens = kept + countContext({ ...request, allTools }, await loadTokenizer());
      return { tokens, isMetered: true };
    },
    async decide(request, signal) {
      const body = api === "chat" ? chatBody(request, wire) : responsesBody(request, wire);
      const answer = await send(client, { api, body, now }, signal);
      const read = readReply(api, answer.body, now());
      const { requestId } = answer;
      if (!read.ok) throw faultOf(read.fault, read.usage, requestId);
      return { ...replyOf(read.reply, request), requestId };
    },
  };
}

function isOwn(baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return true;
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return hostname === "api.openai.com" || hostname.endsWith(".openai.azure.com");
}

const PATHS: Readonly<Record<WireApi, string>> = {
  responses: "/responses",
  chat: "/chat/completions",
};

interface Answer {
  /** Parsed, whatever it is; null where it is not JSON. */
  readonly body: unknown;
  readonly requestId: string | null;
}

/** Reads a success; throws ProviderFault for everything else. */
async function send(
  client: OpenAI,
  {
    api,
    body,
    now,
  }: { readonly api: WireApi; readonly body: JsonObject; readonly now: () => number },
  signal: AbortSignal,
): Promise<Answer> {
  let text: string;
  let requestId: string | null;
  try {
    const response = await client.post(PATHS[api], { body, signal }).asResponse();
    requestId = idIn(response.headers);
    text = await response.text();
  } catch (error) {
    // The step aborted it and knows why; its own signal tells it more than any fault of ours.
    signal.throwIfAborted();
    const id = error instanceof APIError ? idIn(error.headers) : null;
    throw faultOf(faultFrom(error, now()), null, id);
  }
  try {
    return { body: JSON.parse(text), requestId };
  } catch {
    return { body: null, requestId };
  }
}

/** Only what looks like an id: it goes into the journal as it is. */
function idIn(headers: Headers | undefined): string | null {
  const id = headers?.get("x-request-id") ?? headers?.get("apim-request-id") ?? null;
  return id !== null && /^[\w.:-]{1,128}$/.test(id) ? id : null;
}

function faultFrom(error: unknown, now: number): WireFault {
  if (error instanceof APIConnectionTimeoutError) return connection("unknown", "timeout");
  if (error instanceof APIConnectionError) return connectionFault(error);
  if (error instanceof APIError && typeof error.status === "number") {
    const headers = Object.fromEntries(error.headers ?? []);
    return classify({ status: error.status, headers, body: { error: error.error } }, now);
  }
  // The socket broke while the body came: the server has worked.
  return connection("unknown", "the connection broke");
}

/** Nobody was there to work on it, so it cost nothing. */
const NEVER_SENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|CERT|ERR_TLS/;

function connectionFault(error: Error): WireFault {
  let cause: unknown = error;
  for (let depth = 0; depth < 4 && cause instanceof Error; depth += 1) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && NEVER_SENT.test(code))
      return connection("refused", "no connection");
    cause = cause.cause;
  }
  return connection("unknown", "the connection broke");
}

function connection(fate: "refused" | "unknown", message: string): WireFault {
  return { disposition: "retry", fate, retryAfterMs: null, message };
}

function faultOf(fault: WireFault, usage: Usage | null, requestId: string | null): ProviderFault {
  const { disposition, message, fate, retryAfterMs } = fault;
  const told: Fate =
    usage !== null ? { fate: "reported", usage } : { fate: fate === "reported" ? "unknown" : fate };
  return new ProviderFault(message, disposition, { fate: told, retryAfterMs, requestId });
}

function replyOf(reply: WireReply, request: ModelRequest): ModelReply {
  const calls = reply.calls.map(({ name, args }): ModelCall => {
    const offer = request.allTools.find((tool) => tool.name === name);
    const { text, reason, expected } = readWireArguments(
      args,
      offer?.isTerminal === true ? offer.input : undefined,
    );
    return { tool: name, args: { text }, reason, expected };
  });
  const { finish, text, usage, rawUsage } = reply;
  const outputTokens = usage?.output ?? null;
  // A reply that did not end normally is not executed, so nothing of it is shown again.
  const isWhole = NORMAL_FINISHES.includes(finish);
  const items = isWhole ? keepItems(reply.items, { model: request.model, outputTokens }) : null;
  return { finish, text, calls, usage, rawUsage, items };
}
