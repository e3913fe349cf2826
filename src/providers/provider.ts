/**
 * The contract of a model provider: one request in, one reply out, read once into the core's words.
 * Retries, budgets and journaling belong to the step; an adapter never retries by itself.
 */
import type { Price } from "../core/price.ts";
import type { ModelContext } from "../core/context.ts";
import type { RawArguments, Usage } from "../core/decision.ts";
import { PawlError, type ErrorDetail } from "../core/errors.ts";
import type { Json } from "../core/json.ts";

export interface ModelRequest extends ModelContext {
  readonly runId: string;
  readonly step: number;
  /** How many decisions of this run came from a model before. */
  readonly turn: number;
  readonly model: string;
  /** Output tokens the reply may have at most. */
  readonly outputCap: number;
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
}

export interface Provider {
  readonly model: string;
  /** null: this model costs nothing. */
  readonly price: Price | null;
  /** Input tokens of a request before it leaves; 0 where nothing is counted or paid. */
  readonly countInput: (request: Omit<ModelRequest, "outputCap">) => Promise<number> | number;
  /** Throws ProviderFault for what is worth a retry; the signal must reach the socket. */
  readonly decide: (request: ModelRequest, signal: AbortSignal) => Promise<ModelReply>;
}

/** A failed request: nothing was decided. `isFinal` faults are not retried. */
export class ProviderFault extends PawlError {
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean, detail: ErrorDetail = {}) {
    super("PAWL_PROVIDER_FAULT", message, detail);
    this.name = "ProviderFault";
    this.isFinal = isFinal;
  }
}
