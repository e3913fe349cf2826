/** `pawl replay RUN`: folds the journal again and compares with the saved snapshot. */
import type { Command } from "commander";
import { canonicalJson } from "../core/call-key.ts";
import { PawlError } from "../core/errors.ts";
import { parseEvent } from "../core/event.ts";
import { firstDifference } from "../core/first-difference.ts";
import type { Json } from "../core/json.ts";
import { reduce, replay } from "../core/reduce.ts";
import { parseRunState } from "../core/run-state.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { eventsInHand, readSaved, withBackbone, type SavedRun } from "./saved-run.ts";

export function addReplayCommand(program: Command): void {
  program
    .command("replay <run>")
    .description("fold the journal again and compare with the saved state")
    .option("--json", "one JSON document")
    .action(async (runId: string, flags: { readonly json?: boolean }) => {
      process.exitCode = await replayRun(runId, flags.json === true);
    });
}

/** Throws PAWL_REPLAY_MISMATCH with the path, after it has printed the same as JSON. */
async function replayRun(runId: string, asJson: boolean): Promise<number> {
  const saved = await withBackbone(({ store }) => readSaved(store, runId));
  const path = compare(saved);
  const { lines, run } = saved;
  const counts = { id: run.id, events: lines.length, inHand: run.journal.length };
  if (asJson) printJson({ ...counts, equal: path === null, path });
  if (path !== null) {
    const message = `run ${run.id}: the saved state differs from its journal at ${path || "/"}`;
    throw new PawlError("PAWL_REPLAY_MISMATCH", message, { path: path || "/" });
  }
  if (!asJson) {
    const inHand =
      run.journal.length === 0 ? "" : `; the step in hand has journaled ${run.journal.length} more`;
    const told = `${lines.length} events give the saved state again${inHand}`;
    print(`${paint("green", "equal")}  run ${run.id}: ${told}`);
  }
  return EXIT.done;
}

/** Saved events give the snapshot; those of the step in hand must fold onto it. */
function compare(saved: SavedRun): string | null {
  const state = parseRunState(saved.run.json);
  const told = replay(saved.lines.map(parseEvent)) as unknown as Json;
  eventsInHand(saved).reduce(reduce, state);
  const snapshot = JSON.parse(saved.run.json) as Json;
  if (canonicalJson(told) === canonicalJson(snapshot)) return null;
  return firstDifference(told, snapshot) ?? "";
}
