/**
 * Interrupts: a cancel reaches the worker that has the run in hand while its call is still out. A
 * courtesy, not a promise: whoever misses one reads the same happening in the inbox at the next
 * step.
 */

export interface Interrupts {
  /** `onInterrupt` gets the inbox entry. Returns what ends the watch. */
  readonly watch: (runId: string, onInterrupt: (entry: string) => void) => () => void;
  /** Resolves when interrupts begin to arrive. */
  readonly ready: () => Promise<void>;
  readonly close: () => void;
}
