/** `pawl approvals`: what waits for a person's yes or no, with the evidence it rests on. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { PawlError } from "../core/errors.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import { type Fact } from "../core/fact.ts";
import type { StoredRun } from "../store/run-store.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { sourceText } from "./outcome-view.ts";
import { withBackbone } from "./saved-run.ts";
import { oneLine, plain, timeText } from "./table.ts";

interface ApprovalRow {
  readonly id: string;
  readonly run: string;
  readonly ticket: string;
  readonly agent: RunState["agent"];
  readonly tool: string;
  readonly args: Fact["about"];
  readonly argsHash: string;
  /** ms since epoch, as `expires`. */
  readonly requested: number;
  readonly expires: number;
  readonly evidence: readonly Fact[];
}

/** A waiting run that cannot be read: perhaps it waits for a person, so it is not left out. */
interface UnreadableRow {
  readonly run: string;
  readonly error: { readonly code: string; readonly message: string; readonly path?: string };
}

/** As many as the store looks through; the contract's thousand waiting approvals fit. */
const MOST_RUNS = 10_000;
const VALUE_CHARS = 200;
const ARGS_CHARS = 2_000;

export function addApprovalsCommand(program: Command): void {
  program
    .command("approvals")
    .description("what waits for a person's yes or no, newest first")
    .option("--json", "one JSON line an approval")
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const filter = { status: "waiting" as const, limit: MOST_RUNS };
      const runs = await withBackbone(({ store }) => store.list(filter));
      const rows = runs.flatMap(rowsOf).toSorted((a, b) => requestedAt(b) - requestedAt(a));
      if (json) rows.forEach(printJson);
      else if (rows.length === 0) print("nothing waits for an approval");
      else rows.flatMap((row, i) => blockOf(row, i)).forEach(print);
      process.exitCode = EXIT.done;
    });
}

function rowsOf(run: StoredRun): (ApprovalRow | UnreadableRow)[] {
  try {
    const { id, ticket, agent, pending, facts } = parseRunState(run.json);
    if (pending === null || pending.status !== "pending") return [];
    const { tool, args, argsHash } = pending;
    return [
      {
        id: pending.id,
        run: id,
        ticket: ticket.id,
        agent,
        tool,
        args,
        argsHash,
        requested: pending.requestedAt,
        expires: pending.expiresAt,
        evidence: facts,
      },
    ];
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    const { code, message, path } = error;
    return [{ run: run.id, error: { code, message, ...(path === undefined ? {} : { path }) } }];
  }
}

/** What cannot be read comes first: nobody would look for it at the end. */
function requestedAt(row: ApprovalRow | UnreadableRow): number {
  return "error" in row ? Number.MAX_SAFE_INTEGER : row.requested;
}

function blockOf(row: ApprovalRow | UnreadableRow, index: number): string[] {
  const gap = index === 0 ? [] : [""];
  if ("error" in row) {
    const { code, path = "/" } = row.error;
    return [...gap, `run ${plain(row.run)} waits and cannot be read: ${code} at ${path}`];
  }
  const { name, version } = row.agent;
  const isLate = row.expires <= systemClock.now();
  const expires = `${timeText(row.expires)}${isLate ? paint("red", " (too late)") : ""}`;
  return [
    ...gap,
    `${paint("bold", plain(row.id))}  ${paint("yellow", oneLine(row.tool, 60))}`,
    `  args       ${oneLine(JSON.stringify(row.args), ARGS_CHARS)}`,
    `  args hash  ${oneLine(row.argsHash, 80)}`,
    `  run        ${plain(row.run)}, ticket ${oneLine(row.ticket, 80)}`,
    `  agent      ${oneLine(name, 60)} ${oneLine(version, 60)}`,
    `  requested  ${timeText(row.requested)}, expires ${expires}`,
    ...(row.evidence.length === 0 ? ["  evidence   none"] : ["  evidence"]),
    ...row.evidence.map(factLine),
  ];
}

function factLine(fact: Fact): string {
  const value = oneLine(JSON.stringify(fact.value), VALUE_CHARS);
  const cut = fact.partial ? " (cut)" : "";
  const source = `${sourceText(fact)}, ${timeText(fact.observedAt)}`;
  return `    ${oneLine(fact.key, 60)} = ${value}${cut}  (${source})`;
}
