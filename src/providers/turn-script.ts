/** The words of a written-down model: its turns, where they come from, what it costs. */
import type { Price } from "../core/price.ts";
import type { Usage } from "../core/decision.ts";
import type { Json } from "../core/json.ts";
import type { ModelRequest } from "./provider.ts";

export interface ScriptedTurn {
  readonly calls: readonly {
    readonly tool: string;
    readonly args?: unknown;
    readonly rawArgs?: string | undefined;
    readonly reason?: string | undefined;
    readonly expected?: Json | undefined;
  }[];
  readonly text?: string | null | undefined;
  readonly finish?: string | undefined;
  readonly usage?:
    | (Partial<Usage> & { readonly input: number; readonly output: number })
    | null
    | undefined;
  readonly delayMs?: number | undefined;
}

export interface ReplySource {
  /** The reply after so many decisions; null where the script has none left. */
  readonly turn: (index: number) => ScriptedTurn | null;
  /** The script is at its end and the model was asked all the same: the script is wrong. */
  readonly ranOut: (request: ModelRequest) => Promise<void>;
  /** A request leaves: the outside keeps its own books of it. */
  readonly served: (request: ModelRequest) => Promise<void>;
}

export interface ScriptedModel {
  readonly name: string;
  readonly price: Price | null;
  /**
   * Whether tokens are limited or paid, so that a request must be counted where usage is not
   * written.
   */
  readonly counts: boolean;
}
