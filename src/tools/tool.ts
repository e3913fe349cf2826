/**
 * defineTool: a capability with schemas, an effect kind and the contract that verify needs.
 * Reading and writing differ here: a write is handed an idempotency key and says how its effect is
 * confirmed.
 */
import { z } from "zod";
import type { Normaliser, ToolSpec } from "../core/agent-spec.ts";
import type { Json, JsonObject } from "../core/json.ts";

/** What a handler is given beside its arguments; the model can set none of it. */
export interface ToolContext {
  readonly runId: string;
  readonly step: number;
  readonly ticketId: string;
  readonly customerId: string | null;
  /** Same call, same key, after a crash too; null for reads. */
  readonly idempotencyKey: string | null;
  readonly signal: AbortSignal;
}

export type ToolHandler<Args> = (args: Args, context: ToolContext) => Promise<unknown>;

/** What became of an effect, asked by its key. */
export type EffectLookup =
  | { readonly found: true; readonly result: unknown }
  | { readonly found: false };

export interface Tool extends ToolSpec {
  /** Whether the registry must refuse an input that model servers cannot be held to. */
  readonly strict: boolean;
  readonly handler: ToolHandler<JsonObject>;
  readonly lookup: ((key: string, context: ToolContext) => Promise<EffectLookup>) | null;
}

/** A fault that may be gone on the next try: only these are retried inside the step. */
export class TransientToolError extends Error {
  readonly kind: "timeout" | "unavailable";

  constructor(kind: "timeout" | "unavailable", message: string = kind) {
    super(message);
    this.name = "TransientToolError";
    this.kind = kind;
  }
}

export interface ToolDefinition<S extends z.ZodType> {
  readonly name: string;
  readonly effect: "read" | "write";
  readonly description: string;
  readonly input: S;
  /**
   * Default true: an input without a strict form (a key that may be left out, an open map) is
   * refused at registration. False: it is sent as written, and only Pawl validates.
   */
  readonly strict?: boolean;
  readonly handler: ToolHandler<z.output<S>>;
  readonly facts?: Readonly<Record<string, string>>;
  readonly about?: Readonly<Record<string, string>>;
  readonly normalize?: Readonly<Record<string, readonly Normaliser[]>>;
  readonly identity?: readonly string[];
  readonly observedAt?: string;
  readonly maxAgeMs?: number;
  readonly required?: boolean;
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly confirm?: { readonly pointer: string; readonly equals: Json };
  readonly lookup?: Tool["lookup"];
}

/** Longer than a healthy service answers, shorter than a customer's or a queue lock's patience. */
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 2;

/**
 * Takes a definition; returns the tool with its JSON Schema compiled once. Checked by the
 * registry.
 */
export function defineTool<S extends z.ZodType>(definition: ToolDefinition<S>): Tool {
  const { input, handler } = definition;
  return {
    name: definition.name,
    effect: definition.effect,
    description: definition.description,
    input: z.toJSONSchema(input, { io: "input" }) as JsonObject,
    strict: definition.strict ?? true,
    parse: (args) => parseWith(input, args),
    normalize: definition.normalize ?? {},
    identity: definition.identity ?? null,
    facts: definition.facts ?? {},
    about: definition.about ?? {},
    observedAt: definition.observedAt ?? null,
    maxAgeMs: definition.maxAgeMs ?? null,
    required: definition.required ?? false,
    timeoutMs: definition.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    retries: definition.retries ?? DEFAULT_RETRIES,
    confirm: definition.confirm ?? null,
    // Validated by `parse` with this same schema before it gets here.
    handler: (args, context) => handler(args as z.output<S>, context),
    lookup: definition.lookup ?? null,
  };
}

/**
 * Validation without coercion; the issue names path, kind and what was expected, never the value.
 */
function parseWith(schema: z.ZodType, args: Json) {
  const parsed = schema.safeParse(bare(args));
  if (parsed.success) return { ok: true as const, args: parsed.data as JsonObject };
  const issues = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `/${issue.path.join("/")}: ${issue.message}`)
    .join("; ");
  return { ok: false as const, issues };
}

/** Without prototypes: a schema asks `"constructor" in args`, and every object would say yes. */
function bare(value: Json): Json {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(null) as Record<string, Json>;
  for (const [key, inner] of Object.entries(value)) copy[key] = bare(inner);
  return copy;
}
