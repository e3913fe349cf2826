/** Delays before an infrastructure retry of a job. Pure: the caller brings the randomness. */

const FIRST_MS = 250;
const LONGEST_MS = 30_000;

/** Takes the attempt (1 is the first retry) and a random number in [0, 1); returns ms. */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, attempt - 1));
  return Math.round(full * (0.5 + random / 2));
}
