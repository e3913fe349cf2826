/** `pawl fork RUN --from STEP`: a new run that goes on from a saved step of another. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { worldBooks, type Backbone } from "../app/wire.ts";
import { forkRun, type Forked } from "../step/fork-run.ts";
import { EXIT, print, printJson } from "./command.ts";
import { statusText } from "./outcome-view.ts";
import { tellRefusal } from "./operator-move.ts";
import { wholeNumber, withBackbone } from "./saved-run.ts";
import { oneLine } from "./table.ts";

interface ForkFlags {
  readonly from: string;
  readonly json?: boolean;
}

/** Far more steps than any budget grants; only keeps the number a number. */
const MOST_STEPS = 1_000_000;

export function addForkCommand(program: Command): void {
  program
    .command("fork <run>")
    .description("a new run from a saved step; effects from there on are made again")
    .requiredOption("--from <step>", "the step that is done anew; those before it are copied")
    .option("--json", "one JSON document")
    .action(async (runId: string, flags: ForkFlags) => {
      process.exitCode = await fork(runId, flags);
    });
}

async function fork(runId: string, { from, json = false }: ForkFlags): Promise<number> {
  const step = wholeNumber("--from", from, 1, MOST_STEPS);
  const forked = await withBackbone((backbone) => forkOn(backbone, runId, step));
  if (forked.kind === "refused") return tellRefusal(forked, json);
  const { state, effectsAhead } = forked;
  if (json) {
    const { id, status, waiting } = state;
    printJson({ id, forkOf: runId, step: state.step, status, waiting, effectsAhead });
    return EXIT.done;
  }
  print(`run ${state.id}  ${statusText(state)}`);
  print(`  goes on from step ${state.step} of run ${runId}, which stays as it is`);
  for (const { step: at, tool } of effectsAhead) {
    print(`  step ${at} of the old run made ${oneLine(tool, 60)}; the new run may make its own`);
  }
  return EXIT.done;
}

function forkOn(backbone: Backbone, runId: string, step: number): Promise<Forked> {
  const { store } = backbone;
  const books = worldBooks(backbone);
  const copyOutside = async (from: string, to: string): Promise<void> => {
    const script = await books.load(from);
    if (script !== null) await books.put(to, { ...script, endpoint: null });
  };
  const { now, newId } = systemClock;
  return forkRun({ store, copyOutside, now, newId }, runId, step);
}
