/**
 * Cedar's engine (4 MB of wasm), loaded when a policy text is first used and never before. One trap
 * inside it ends it for the whole process: every later call throws, which denies. So what could
 * overflow its stack is refused before it gets there: cedar-text.ts for policies, cedar-context.ts
 * for values.
 */
import type * as CedarModule from "@cedar-policy/cedar-wasm/nodejs";

export type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
export type Cedar = typeof CedarModule;
export type CedarFault = CedarModule.DetailedError;

/** The types of a Cedar schema that JSON values can have. */
export type CedarType =
  | { readonly type: "String" | "Long" | "Boolean" }
  | { readonly type: "Set"; readonly element: CedarType }
  | { readonly type: "Record"; readonly attributes: CedarAttributes };
export type CedarAttributes = Readonly<Record<string, CedarType & { readonly required?: boolean }>>;

export function loadCedar(): Promise<Cedar> {
  return import("@cedar-policy/cedar-wasm/nodejs");
}
