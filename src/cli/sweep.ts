/** `pawl sweep`: one repair now, as the workers do by themselves every few seconds. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { sweep, type SweepReport } from "../step/sweep.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { withBackbone, wholeNumber } from "./saved-run.ts";
import { tableLines } from "./table.ts";

/** Three lock lifetimes, as the workers' own sweeps: a step that is worked on is younger. */
const DEFAULT_REST_MS = 30_000;
const MOST_REST_MS = 86_400_000;

interface SweepFlags {
  readonly restMs: string;
  readonly json?: boolean;
}

export function addSweepCommand(program: Command): void {
  program
    .command("sweep")
    .description("find unfinished runs that no job will wake, and give them one")
    .option("--rest-ms <ms>", "look at runs not saved for so long", String(DEFAULT_REST_MS))
    .option("--json", "one JSON document")
    .action(async (flags: SweepFlags) => {
      process.exitCode = await sweepNow(flags);
    });
}

async function sweepNow(flags: SweepFlags): Promise<number> {
  const restMs = wholeNumber("--rest-ms", flags.restMs, 0, MOST_REST_MS);
  const report = await withBackbone(({ store, queue }) =>
    sweep({ store, queue, now: systemClock.now }, restMs),
  );
  if (flags.json === true) printJson(report);
  else sweepLines(report, restMs).forEach(print);
  return EXIT.done;
}

function sweepLines({ looked, repaired }: SweepReport, restMs: number): string[] {
  const scope = `${looked} unfinished runs not saved for ${restMs} ms`;
  if (repaired.length === 0) return [`${paint("green", "nothing to repair")} among ${scope}`];
  const columns = [{ title: "run" }, { title: "step", isNumber: true }, { title: "repaired" }];
  const rows = repaired.map(({ runId, step, kind }) => [runId, String(step), kind]);
  return [...tableLines(columns, rows), `${repaired.length} repaired among ${scope}`];
}
