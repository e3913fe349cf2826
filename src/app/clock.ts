/** The clock, the ids and the randomness of this process: the only places that have any. */
import { uuidv7 } from "uuidv7";

export interface Clock {
  /** ms since epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  newId: () => uuidv7(),
  random: () => Math.random(),
};
