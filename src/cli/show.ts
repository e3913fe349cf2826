/** `pawl show RUN`: one run with its protocol, its spend and its outcome. */
import type { Command } from "commander";
import { PawlError } from "../core/errors.ts";
import { parseEvent, type Event } from "../core/event.ts";
import { replay } from "../core/reduce.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import { viewOf } from "../core/run-view.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { printRun } from "./protocol-view.ts";
import { eventsInHand, readSaved, withBackbone, type SavedRun } from "./saved-run.ts";
import { oneLine, timeText } from "./table.ts";

interface ShowFlags {
  readonly events?: boolean;
  readonly json?: boolean;
}

const EVENT_CHARS = 160;

export function addShowCommand(program: Command): void {
  program
    .command("show <run>")
    .description("one run: state, protocol, spend, outcome")
    .option("--events", "its journal too, and what the step in hand has journaled")
    .option("--json", "one JSON document")
    .action(async (runId: string, flags: ShowFlags) => {
      process.exitCode = await show(runId, flags);
    });
}

async function show(runId: string, flags: ShowFlags): Promise<number> {
  const saved = await withBackbone(({ store }) => readSaved(store, runId));
  const events = saved.lines.map(parseEvent);
  const { state, unreadable } = stateOf(saved, events);
  const view = viewOf(state, events, { parked: saved.run.parked });
  const inHand = flags.events === true ? eventsInHand(saved) : [];
  if (flags.json === true) {
    const journal = flags.events === true ? { events, inHand } : {};
    printJson({ ...view, ...(unreadable === null ? {} : { unreadable }), ...journal });
    return EXIT.done;
  }
  printRun(view);
  if (unreadable !== null) {
    const told = `${unreadable.code}: ${unreadable.message}`;
    print(`\n${paint("red", "the snapshot cannot be read")}; shown is what the journal gives`);
    print(`  ${oneLine(told, EVENT_CHARS)}`);
  }
  if (flags.events === true) printEvents(events, inHand);
  return EXIT.done;
}

interface Unreadable {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
}

/**
 * A parked run is shown from its journal: its snapshot is what could not be read. Before a worker
 * has parked it an unreadable snapshot is an error, since nothing has been decided about it yet.
 */
function stateOf(
  { run }: SavedRun,
  events: readonly Event[],
): { readonly state: RunState; readonly unreadable: Unreadable | null } {
  try {
    return { state: parseRunState(run.json), unreadable: null };
  } catch (error) {
    if (!run.parked || !(error instanceof PawlError)) throw error;
    const { code, message, path } = error;
    const unreadable = { code, message, ...(path === undefined ? {} : { path }) };
    return { state: replay(events), unreadable };
  }
}

function printEvents(events: readonly Event[], inHand: readonly Event[]): void {
  print(`\n${paint("bold", "journal")}`);
  events.forEach((event, i) => print(eventLine(event, i)));
  if (inHand.length === 0) return;
  print(paint("bold", "journaled by the step in hand, not saved yet"));
  inHand.forEach((event, i) => print(eventLine(event, events.length + i)));
}

function eventLine(event: Event, index: number): string {
  const { type, at, step, ...rest } = event;
  const number = String(index).padStart(4);
  const text = oneLine(JSON.stringify(rest), EVENT_CHARS);
  return `  ${number}  ${timeText(at)}  step ${step}  ${type.padEnd(18)}  ${text}`;
}
