/** RFC 6901 JSON pointers, own properties only: `/constructor` never resolves into a prototype. */
import type { Json, JsonObject } from "./json.ts";

export type Resolved = { readonly found: true; readonly value: Json } | { readonly found: false };

const SYNTAX = /^(?:\/(?:[^~/]|~[01])*)*$/;
const INDEX = /^(?:0|[1-9]\d*)$/;

export function isPointer(text: string): boolean {
  return SYNTAX.test(text);
}

/** Takes a document and a pointer ("" is the whole document); a malformed pointer is not found. */
export function resolvePointer(document: Json, pointer: string): Resolved {
  if (!isPointer(pointer)) return { found: false };
  let here: Json = document;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof here !== "object" || here === null) return { found: false };
    if (Array.isArray(here)) {
      if (!INDEX.test(key) || Number(key) >= here.length) return { found: false };
      here = here[Number(key)] as Json;
    } else {
      if (!Object.hasOwn(here, key)) return { found: false };
      here = (here as JsonObject)[key] as Json;
    }
  }
  return { found: true, value: here };
}
