/**
 * Whether OpenAI would take a request: its own schema with unknown fields refused, every call with
 * its result behind it, reasoning with the call that it led to. For the endpoint that cases run
 * against; a live request is never checked by it.
 */
import { readFileSync } from "node:fs";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { SENDABLE_NAME } from "../core/offer.ts";
import { readWireArguments } from "./openai-args.ts";
import type { WireApi } from "./wire-reply.ts";

export interface RequestCheck {
  /** Null for a request that the server would take, else the first reason against it. */
  readonly whyRefused: (api: WireApi, body: Json) => string | null;
  /** What a model sees of a request: the tools that it may call, and every text. */
  readonly shown: (
    api: WireApi,
    body: JsonObject,
  ) => { readonly tools: readonly string[]; readonly text: string };
}

const FILE = new URL("./request-schemas.json", import.meta.url);

/** Loads the validator, which only cases need. */
export async function createRequestCheck(): Promise<RequestCheck> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(JSON.parse(readFileSync(FILE, "utf8")) as object);
  const whole = (name: string) =>
    ajv.compile({ $ref: `openai-requests.json#/$defs/${name}`, unevaluatedProperties: false });
  const validators = {
    responses: whole("CreateResponse"),
    chat: whole("CreateChatCompletionRequest"),
  };
  return {
    whyRefused(api, body) {
      const validate = validators[api];
      if (!validate(body)) return `${api}: ${ajv.errorsText(validate.errors).slice(0, 400)}`;
      const request = body as JsonObject;
      if (!isWellFormed(request)) return "half of a surrogate pair";
      const calls = api === "chat" ? chatCalls(request) : itemsOf(request).filter(isCall);
      return (
        badTools(request) ??
        badCall(calls) ??
        (api === "chat" ? unpairedMessages(request) : unpairedItems(request))
      );
    },
    shown: (api, body) => ({
      tools: allowedTools(body),
      text: (api === "chat" ? chatTexts(body) : responseTexts(body)).join("\n"),
    }),
  };
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function isWellFormed(value: Json): boolean {
  if (typeof value === "string") return !/\p{Surrogate}/u.test(value);
  if (Array.isArray(value)) return value.every(isWellFormed);
  return !isJsonObject(value) || Object.values(value).every(isWellFormed);
}

/** Chat nests a function's own words one level deeper than Responses. */
function named(entry: JsonObject): JsonObject {
  return isJsonObject(entry["function"]) ? entry["function"] : entry;
}

function itemsOf(body: JsonObject): readonly JsonObject[] {
  return objects(body["input"]);
}

function isCall(item: JsonObject): boolean {
  return item["type"] === "function_call";
}

function chatCalls(body: JsonObject): readonly JsonObject[] {
  return objects(body["messages"]).flatMap((message) =>
    objects(message["tool_calls"]).map((call) => named(call)),
  );
}

function badTools(body: JsonObject): string | null {
  const tools = objects(body["tools"]).map((tool) => textOf(named(tool)["name"]));
  if (new Set(tools).size < tools.length) return "two tools of one name";
  const unknown = allowedTools(body).find((name) => !tools.includes(name));
  return unknown === undefined ? null : `allowed but no tool: ${unknown}`;
}

function badCall(calls: readonly JsonObject[]): string | null {
  for (const call of calls) {
    if (!SENDABLE_NAME.test(textOf(call["name"]))) return "no server takes the name of a call";
    if (!isObjectText(textOf(call["arguments"]))) return "arguments that are no JSON object";
  }
  return null;
}

function isObjectText(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Reasoning stands before what it led to, with its id; every output behind its call. */
function unpairedItems(body: JsonObject): string | null {
  const open = new Set<Json | undefined>();
  const seen = new Set<Json | undefined>();
  let isReasoned = false;
  for (const item of itemsOf(body)) {
    const { type, call_id: callId, id } = item;
    if (type === "reasoning") {
      isReasoned = true;
      continue;
    }
    const isFollower = type === "function_call" || item["role"] === "assistant";
    if (isReasoned && !(isFollower && typeof id === "string")) {
      return "a reasoning item without its following item";
    }
    isReasoned = false;
    if (type === "function_call_output") {
      if (!open.delete(callId)) return "an output without its call";
    } else if (type === "function_call") {
      if (seen.has(callId)) return "two calls of one id";
      seen.add(callId);
      open.add(callId);
    } else if (open.size > 0) {
      return "a call without its output";
    }
  }
  if (isReasoned) return "a reasoning item without its following item";
  return open.size > 0 ? "a call without its output" : null;
}

function unpairedMessages(body: JsonObject): string | null {
  const seen = new Set<Json | undefined>();
  let due: readonly (Json | undefined)[] = [];
  for (const message of objects(body["messages"])) {
    if (message["role"] === "tool") {
      const { tool_call_id: callId } = message;
      if (!due.includes(callId)) return "a tool message without its call";
      due = due.filter((id) => id !== callId);
      continue;
    }
    if (due.length > 0) return "a call without its tool message";
    due = objects(message["tool_calls"]).map((call) => call["id"]);
    if (due.some((id) => seen.has(id))) return "two calls of one id";
    for (const id of due) seen.add(id);
  }
  return due.length > 0 ? "a call without its tool message" : null;
}

function allowedTools(body: JsonObject): readonly string[] {
  const { tool_choice: choice } = body;
  const said = isJsonObject(choice)
    ? isJsonObject(choice["allowed_tools"])
      ? choice["allowed_tools"]
      : choice
    : body;
  return objects(said["tools"]).map((tool) => textOf(named(tool)["name"]));
}

function contentOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return objects(value)
    .map((part) => textOf(part["text"]))
    .join("");
}

/** As the tool's own words have it: without what our adapters put among the arguments. */
function callText(call: JsonObject): string {
  return `${textOf(call["name"])} ${readWireArguments(textOf(call["arguments"]), undefined).text}`;
}

function responseTexts(body: JsonObject): string[] {
  const said = itemsOf(body).map((item) => {
    if (isCall(item)) return callText(item);
    return contentOf(item["output"] ?? item["content"]);
  });
  return [textOf(body["instructions"]), ...said];
}

function chatTexts(body: JsonObject): string[] {
  return objects(body["messages"]).flatMap((message) => [
    contentOf(message["content"]),
    ...objects(message["tool_calls"]).map((call) => callText(named(call))),
  ]);
}
