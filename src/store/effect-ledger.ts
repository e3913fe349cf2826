/**
 * The effect ledger: one row an effect, written with its intent and settled with its receipt. It
 * outlives the run, so that it can still be said what was done for a customer and under which key.
 */
import type { EventOf } from "../core/event.ts";

/** intended: it may have happened, nobody has said so yet. failed: it has not happened. */
export type EffectState = "intended" | "done" | "unknown" | "failed";

export interface EffectRow {
  readonly idempotencyKey: string;
  readonly state: EffectState;
  readonly runId: string;
  readonly step: number;
  readonly callId: string;
  readonly tool: string;
  /** null: the ticket names no customer. */
  readonly customerId: string | null;
  readonly ticketId: string;
  /** SHA-256 of the canonical arguments; the arguments themselves stand in the run's journal. */
  readonly argsHash: string;
  /** ms since epoch. */
  readonly intendedAt: number;
  readonly settledAt: number | null;
}

/** What a run is about to do outside. */
export interface EffectIntent extends Pick<EffectRow, "customerId" | "ticketId" | "argsHash"> {
  readonly event: EventOf<"intended">;
  /** How many effects of the customer the permission knew of; null: it did not ask. */
  readonly customerEffects: number | null;
}

export interface EffectLedger {
  /**
   * Effects of all runs for a customer that happened, or may have; those that failed do not count.
   */
  readonly countOf: (customerId: string) => Promise<number>;
  readonly row: (idempotencyKey: string) => Promise<EffectRow | null>;
  /** Newest first. */
  readonly ofCustomer: (customerId: string, limit: number) => Promise<readonly EffectRow[]>;
}

/**
 * Longer than any customer may dispute a payment; then a row goes, so that nothing grows for ever.
 */
export const LEDGER_KEPT_MS = 400 * 24 * 3_600_000;

/** The state in which a call leaves its row. */
export function settledState(outcome: EventOf<"called">["outcome"]): EffectState {
  return outcome === "succeeded" ? "done" : outcome;
}
