/**
 * Runs one prepared call: handler with timeout and signal, transient faults retried inside the
 * step, the result read as JSON. What goes wrong as expected is a value; only an abort from
 * outside throws.
 */
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "../core/errors.ts";
import { jsonEqual, readJson, type Json, type JsonObject } from "../core/json.ts";
import { resolvePointer } from "../core/pointer.ts";
import { TransientToolError, type Tool, type ToolContext } from "./tool.ts";

export type CallResult =
  | { readonly outcome: "succeeded"; readonly value: Json; readonly runs: number }
  | {
      readonly outcome: "failed";
      /** Transient and still failing after the last retry: the tool is unavailable. */
      readonly unavailable: boolean;
      readonly message: string;
      readonly runs: number;
    }
  /** A write that may or may not have happened: to be looked up, never blindly repeated. */
  | { readonly outcome: "unknown"; readonly message: string; readonly runs: number };

/** First wait between tries in ms, doubled each time: long enough to matter, short for a step. */
const RETRY_DELAY_MS = 50;

const TRANSIENT_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EPIPE", "EAI_AGAIN"]);

export async function runCall(
  tool: Tool,
  args: JsonObject,
  context: ToolContext,
): Promise<CallResult> {
  context.signal.throwIfAborted();
  for (let run = 1; ; run += 1) {
    const tried = await tryOnce(tool, args, context);
    context.signal.throwIfAborted();
    if (tried.kind === "value") return readResult(tool, tried.value, run);
    if (tried.kind === "error") {
      return { outcome: "failed", unavailable: false, message: tried.message, runs: run };
    }
    if (tool.effect === "write" && tried.fault === "timeout") {
      return { outcome: "unknown", message: "the handler timed out", runs: run };
    }
    if (run > tool.retries) {
      return { outcome: "failed", unavailable: true, message: tried.message, runs: run };
    }
    await pause(RETRY_DELAY_MS * 2 ** (run - 1), undefined, { signal: context.signal });
  }
}

type Try =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly message: string }
  | {
      readonly kind: "transient";
      readonly fault: "timeout" | "unavailable";
      readonly message: string;
    };

async function tryOnce(tool: Tool, args: JsonObject, context: ToolContext): Promise<Try> {
  const abort = new AbortController();
  const follow = (): void => abort.abort(context.signal.reason);
  context.signal.addEventListener("abort", follow, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort.abort(new TransientToolError("timeout"));
  }, tool.timeoutMs);
  try {
    // A handler may ignore its signal; the race goes on without it, and its late result is dropped.
    const running = tool.handler(args, { ...context, signal: abort.signal });
    return { kind: "value", value: await Promise.race([running, rejectOn(abort.signal)]) };
  } catch (error) {
    if (isLate) {
      return { kind: "transient", fault: "timeout", message: `no answer in ${tool.timeoutMs} ms` };
    }
    return readThrown(error);
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener("abort", follow);
  }
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = (): void => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}

function readThrown(error: unknown): Try {
  const message = messageOf(error);
  if (error instanceof TransientToolError) return { kind: "transient", fault: error.kind, message };
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!TRANSIENT_CODES.has(code)) return { kind: "error", message };
  return { kind: "transient", fault: code === "ECONNREFUSED" ? "unavailable" : "timeout", message };
}

/**
 * A result that is not JSON is a failed tool; a write that `confirm` does not accept is unknown.
 */
export function readResult(tool: Tool, value: unknown, runs: number): CallResult {
  const json = readJson(value);
  if (!json.ok) {
    const message = `the result at ${json.path || "/"} is not JSON: ${json.kind}`;
    // The effect of a write has happened even if its result cannot be read.
    return tool.effect === "write"
      ? { outcome: "unknown", message, runs }
      : { outcome: "failed", unavailable: false, message, runs };
  }
  return isConfirmed(tool, json.value)
    ? { outcome: "succeeded", value: json.value, runs }
    : { outcome: "unknown", message: "the result does not confirm the effect", runs };
}

function isConfirmed(tool: Tool, value: Json): boolean {
  if (tool.confirm === null) return true;
  const seen = resolvePointer(value, tool.confirm.pointer);
  return seen.found && jsonEqual(seen.value, tool.confirm.equals);
}
