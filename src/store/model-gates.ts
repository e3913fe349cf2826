/**
 * The contract of the gates before the models: where a server has asked to be left alone, every run
 * that would ask it waits, on whichever worker. After the time one request goes first; the others
 * follow when it got through. Whether a gate lets a run pass is asked with the reservation
 * (RunStore.journal), so an open one costs no round trip.
 */
export interface ModelGates {
  /**
   * Shuts a gate for so many ms, or leaves it shut for longer; returns the ms after which the
   * caller may come again: those who wait come one after the other.
   */
  readonly close: (gate: string, ms: number) => Promise<number>;
  /** The first request after a closing got through. */
  readonly open: (gate: string) => Promise<void>;
}
