/**
 * What the operator's moves share: words that must be given, the way into a run's inbox, and how a
 * move is told that came to nothing because of how the run stands: by its short code, with exit 1.
 */
import { PawlError } from "../core/errors.ts";
import type { Happening } from "../core/event.ts";
import { parseRunState } from "../core/run-state.ts";
import type { RunStore } from "../store/run-store.ts";
import { EXIT } from "./command.ts";
import { withBackbone } from "./saved-run.ts";

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** On stderr, as text or as the JSON of the contract; returns the exit code. */
export function tellRefusal({ code, message }: Refusal, asJson: boolean): number {
  const line = asJson ? JSON.stringify({ error: { code, message } }) : `${code}: ${message}`;
  process.stderr.write(`${line}\n`);
  return EXIT.failed;
}

/** Takes an option's or an argument's words; throws PAWL_USAGE where there are none. */
export function givenWords(name: string, given: string): string {
  if (given.trim() !== "") return given;
  throw new PawlError("PAWL_USAGE", `${name} is empty`, { path: name });
}

/** Puts what happened into the run's inbox; null: done. Throws PAWL_RUN_NOT_FOUND. */
export function tellRun(runId: string, happening: Happening): Promise<Refusal | null> {
  return withBackbone(async ({ store }) => {
    const posted = await store.post(runId, happening);
    if (posted === "missing") {
      throw new PawlError("PAWL_RUN_NOT_FOUND", `there is no run ${runId.slice(0, 80)}`);
    }
    if (posted === "ended") return runEnded(store, runId);
    if (posted === "full") {
      const message = `run ${runId} has more unread messages than it may hold; is a worker running?`;
      return { code: "inbox_full", message };
    }
    return null;
  });
}

/** What an ended run says to whoever still wants something of it. */
export async function runEnded(store: Pick<RunStore, "read">, runId: string): Promise<Refusal> {
  return { code: "run_ended", message: `run ${runId} has ended as ${await endOf(store, runId)}` };
}

async function endOf(store: Pick<RunStore, "read">, runId: string): Promise<string> {
  const run = await store.read(runId);
  if (run === null || run.parked) return "failed/unreadable_state";
  try {
    const { status, reason } = parseRunState(run.json);
    return `${status}/${reason}`;
  } catch (error) {
    // It did end; that its last snapshot was harmed since is another command's finding.
    if (error instanceof PawlError) return "something that cannot be read";
    throw error;
  }
}
