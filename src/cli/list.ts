/** `pawl list`: the runs there are, newest first. */
import type { Command } from "commander";
import { PawlError } from "../core/errors.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import { STATUSES, type Status } from "../core/stop.ts";
import type { StoredRun } from "../store/run-store.ts";
import { EXIT, print, printJson } from "./command.ts";
import { statusText } from "./outcome-view.ts";
import { wholeNumber, withBackbone } from "./saved-run.ts";
import { moneyText, oneLine, tableLines, timeText } from "./table.ts";

interface ListFlags {
  readonly status?: string;
  readonly agent?: string;
  readonly ticket?: string;
  readonly limit: string;
  readonly json?: boolean;
}

/** As many as the store looks through for one page. */
const MOST_RUNS = 10_000;

export function addListCommand(program: Command): void {
  program
    .command("list")
    .description("the runs there are, newest first")
    .option("--status <status>", "only runs of this status")
    .option("--agent <name>", "only runs of this agent")
    .option("--ticket <id>", "only runs of this ticket")
    .option("--limit <n>", "this many at most", "50")
    .option("--json", "one JSON line a run")
    .action(async (flags: ListFlags) => {
      process.exitCode = await list(flags);
    });
}

async function list(flags: ListFlags): Promise<number> {
  const limit = wholeNumber("--limit", flags.limit, 1, MOST_RUNS);
  const filter = {
    status: flags.status === undefined ? undefined : statusOf(flags.status),
    agent: flags.agent,
    ticketId: flags.ticket,
    limit,
  };
  const runs = await withBackbone(({ store }) => store.list(filter));
  const rows = runs.map(rowOf);
  if (flags.json === true) rows.forEach(printJson);
  else if (rows.length === 0) print("no runs");
  else {
    tableLines(COLUMNS, rows.map(cellsOf)).forEach(print);
    if (rows.length === limit) print(`the newest ${limit}; --limit N shows more`);
  }
  return EXIT.done;
}

function statusOf(given: string): Status {
  const status = STATUSES.find((known) => known === given);
  if (status !== undefined) return status;
  throw new PawlError("PAWL_USAGE", `--status takes one of ${STATUSES.join(", ")}`, {
    path: "--status",
  });
}

interface ListRow {
  readonly id: string;
  readonly agent: RunState["agent"] | null;
  readonly ticketId: string | null;
  /** Null for a snapshot that cannot be read and that no worker has met yet. */
  readonly status: Status | null;
  readonly reason: RunState["reason"];
  readonly waiting: RunState["waiting"];
  readonly steps: number | null;
  readonly moneyMicroUsd: number | null;
  readonly createdAt: number | null;
  readonly endedAt: number | null;
  readonly error?: { readonly code: string; readonly message: string; readonly path?: string };
}

/** One run that cannot be read is a row of its own kind; the list goes on. */
function rowOf(run: StoredRun): ListRow {
  const parked = { status: "failed", reason: "unreadable_state", waiting: null } as const;
  try {
    const state = parseRunState(run.json);
    const { id, agent, status, reason, waiting, spent, createdAt, endedAt } = state;
    return {
      id,
      agent,
      ticketId: state.ticket.id,
      ...(run.parked ? parked : { status, reason, waiting }),
      steps: spent.steps,
      moneyMicroUsd: spent.moneyMicroUsd,
      createdAt,
      endedAt,
    };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    const { code, message, path } = error;
    return {
      id: run.id,
      agent: null,
      ticketId: null,
      ...(run.parked ? parked : { status: null, reason: null, waiting: null }),
      steps: null,
      moneyMicroUsd: null,
      createdAt: null,
      endedAt: null,
      error: { code, message, ...(path === undefined ? {} : { path }) },
    };
  }
}

const COLUMNS = [
  { title: "run" },
  { title: "agent" },
  { title: "ticket" },
  { title: "steps", isNumber: true },
  { title: "money", isNumber: true },
  { title: "created" },
  { title: "status" },
];

/** The status comes last: it is painted, and only the last column is not padded. */
function cellsOf(row: ListRow): string[] {
  const { status, reason, waiting, moneyMicroUsd } = row;
  return [
    row.id,
    oneLine(row.agent?.name ?? "-", 24),
    oneLine(row.ticketId ?? "-", 24),
    String(row.steps ?? "-"),
    moneyMicroUsd === null ? "-" : moneyText(moneyMicroUsd),
    timeText(row.createdAt),
    status === null
      ? `unreadable at ${row.error?.path ?? "/"}`
      : statusText({ status, reason, waiting }),
  ];
}
