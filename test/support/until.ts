/** Waits for a fact that only Redis can tell: asked again and again, within a bound. */
import { setTimeout as pause } from "node:timers/promises";

const PAUSE_MS = 5;
/** Far above what any of these takes; a test that hangs is told by this and not by the runner. */
const LONGEST_MS = 10_000;

export async function until(
  holds: () => Promise<boolean> | boolean,
  longestMs = LONGEST_MS,
): Promise<void> {
  const last = performance.now() + longestMs;
  while (!(await holds())) {
    if (performance.now() > last) throw new Error(`not true in ${longestMs} ms: ${String(holds)}`);
    await pause(PAUSE_MS);
  }
}

/** An outside that takes its time: many turns of the event loop go by, other work gets its turn. */
export async function slowly(): Promise<void> {
  await pause(PAUSE_MS);
}
