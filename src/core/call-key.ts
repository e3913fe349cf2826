/**
 * The identity of a call: tool + RFC 8785 canonical JSON of its validated, normalised arguments.
 * Reason and expectation are no part of it: a new wording of the same call is the same call.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import canonicalize from "canonicalize";
import type { Json, JsonObject } from "./json.ts";

/** Hex SHA-256 of the UTF-8 bytes of a text. */
export function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** RFC 8785 text; throws on a lone surrogate, which has no canonical form. */
export function canonicalJson(value: Json): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("a value without a JSON form");
  return text;
}

/**
 * Takes validated, normalised arguments and the tool's identity fields (null: every field counts).
 * Returns `tool:sha256`; the whole arguments are hashed, however long, since reports show calls
 * that differ in their last character only (bug case L-05).
 */
export function callKey(
  tool: string,
  args: JsonObject,
  identity: readonly string[] | null,
): string {
  const counted =
    identity === null
      ? args
      : Object.fromEntries(identity.flatMap((f) => (Object.hasOwn(args, f) ? [[f, args[f]]] : [])));
  return `${tool}:${digest(canonicalJson(counted as JsonObject))}`;
}

/**
 * The idempotency key of an effect: from run and call, never from the model. Same call, same key.
 */
export function idempotencyKey(runId: string, key: string): string {
  return `${runId}.${digest(key).slice(0, 32)}`;
}
