/**
 * The contract of a model provider: one request in, one reply out, read once into the core's words.
 * Retries, budgets and journaling belong to the step; an adapter never retries by itself.
 */
import type { Price } from "../core/price.ts";
import type { ModelContext } from "../core/context.ts";
import type { FaultKind, RawArguments, Usage } from "../core/decision.ts";
import { PawlError } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";

export interface ModelRequest extends ModelContext {
  readonly runId: string;
  readonly step: number;
  /** How many requests of this run were answered before, with a decision or with a fault. */
  readonly turn: number;
  readonly model: string;
  /** Shared by requests that begin alike: those of one version of an agent. */
  readonly cacheKey: string;
  /** What the adapter wanted kept of earlier replies, by the `items` of their calls. */
  readonly items?: ReadonlyMap<string, string>;
  /** Output tokens the reply may have at most. */
  readonly outputCap: number;
}

export type UncappedRequest = Omit<ModelRequest, "outputCap">;

export interface InputCount {
  /** An upper bound where `isMetered`, else a rough size for reports. */
  readonly tokens: number;
  /** False: neither limited nor paid, so there is nothing to reserve. */
  readonly isMetered: boolean;
}

export interface ModelCall {
  readonly tool: string;
  readonly args: RawArguments;
  readonly reason: string;
  readonly expected: Json;
}

export interface ModelReply {
  readonly finish: string;
  readonly text: string | null;
  readonly calls: readonly ModelCall[];
  /** null: the server did not say; the step settles at the reservation. */
  readonly usage: Usage | null;
  /** The usage as it came, where it says more than `usage` can. */
  readonly rawUsage?: JsonObject | null;
  /** By which the server knows this request. */
  readonly requestId?: string | null;
  /** Text that the adapter wants back with later requests that show the first call. */
  readonly items?: string | null;
}

export interface Provider {
  readonly model: string;
  /** null: this model costs nothing. */
  readonly price: Price | null;
  /**
   * Names what one rate limit is about (server, model, key) without telling any of them: runs of
   * one gate wait together. Absent: its faults slow nobody else.
   */
  readonly gate?: string;
  /** Before a request leaves: what the server will count at most. */
  readonly countInput: (request: UncappedRequest) => Promise<InputCount> | InputCount;
  /** Throws ProviderFault for a request that gave no reply; the signal must reach the socket. */
  readonly decide: (request: ModelRequest, signal: AbortSignal) => Promise<ModelReply>;
}

/**
 * What became of a failed request. refused: the server did nothing (429, 503). reported: it worked
 * and told what that used. unknown: it may have worked and be paid (a cut connection, a timeout).
 */
export type Fate =
  | { readonly fate: "refused" }
  | { readonly fate: "reported"; readonly usage: Usage }
  | { readonly fate: "unknown" };

export interface FaultDetail {
  readonly fate?: Fate;
  /** ms that the server asks to be left alone; null: it did not say. */
  readonly retryAfterMs?: number | null;
  /** By which the server knows this request. */
  readonly requestId?: string | null;
}

/** A failed request: nothing was decided. */
export class ProviderFault extends PawlError {
  readonly kind: FaultKind;
  readonly fate: Fate;
  readonly retryAfterMs: number | null;
  readonly requestId: string | null;

  constructor(message: string, kind: FaultKind, detail: FaultDetail = {}) {
    super("PAWL_PROVIDER_FAULT", message);
    this.name = "ProviderFault";
    this.kind = kind;
    this.fate = detail.fate ?? { fate: "refused" };
    this.retryAfterMs = detail.retryAfterMs ?? null;
    this.requestId = detail.requestId ?? null;
  }
}
