/**
 * Whether a server would take a request: every call has its result right behind it, names and ids
 * are clean, arguments are JSON objects, and no text holds half of a surrogate pair.
 */
import { isJsonObject } from "../core/json.ts";
import type { ContextMessage, ModelContext } from "../core/context.ts";
import { SENDABLE_NAME } from "../core/offer.ts";

/** Null for a request that can be sent, else the first reason against it. */
export function whyUnsendable({ instructions, messages, tools }: ModelContext): string | null {
  const texts = [instructions, ...messages.map((message) => message.text ?? "")];
  if (texts.some((text) => /\p{Surrogate}/u.test(text))) return "half of a surrogate pair";
  if (!messages.some((message) => message.role === "user")) return "no user message";
  const offered = tools.map((tool) => tool.name);
  if (new Set(offered).size < offered.length) return "two tools of one name";
  return unpaired(messages) ?? badCall(messages);
}

function unpaired(messages: readonly ContextMessage[]): string | null {
  const seen = new Set<string>();
  let due: readonly string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (due[0] !== message.callId) return `a result without its call: ${message.callId}`;
      due = due.slice(1);
      continue;
    }
    if (due.length > 0) return `a call without its result: ${due[0]}`;
    due = message.role === "assistant" ? message.calls.map((call) => call.id) : [];
    if (due.some((id) => seen.has(id))) return "two calls of one id";
    for (const id of due) seen.add(id);
  }
  return due.length > 0 ? `a call without its result: ${due[0]}` : null;
}

function badCall(messages: readonly ContextMessage[]): string | null {
  for (const message of messages) {
    for (const call of message.role === "assistant" ? message.calls : []) {
      if (!SENDABLE_NAME.test(call.tool)) return `no server takes the tool name of ${call.id}`;
      if (!isObjectText(call.args)) return `the arguments of ${call.id} are no JSON object`;
    }
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
