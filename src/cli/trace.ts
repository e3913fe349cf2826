/** `pawl trace RUN`: every claim of the outcome, proved back to the recorded bytes. */
import type { Command } from "commander";
import { parseEvent } from "../core/event.ts";
import { parseRunState } from "../core/run-state.ts";
import { referencedCalls, traceOf, type Trace, type TracedClaim } from "../core/trace.ts";
import type { RunStore } from "../store/run-store.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { sourceText } from "./outcome-view.ts";
import { readSaved, withBackbone } from "./saved-run.ts";
import { oneLine } from "./table.ts";

const SHOWN_CHARS = 120;
const DIGEST_SHOWN_CHARS = 12;

export function addTraceCommand(program: Command): void {
  program
    .command("trace <run>")
    .description(
      "each claim of the outcome back to the recorded value; exit 1 if a link is missing",
    )
    .option("--json", "one JSON document")
    .action(async (runId: string, flags: { readonly json?: boolean }) => {
      process.exitCode = await traceRun(runId, flags.json === true);
    });
}

async function traceRun(runId: string, asJson: boolean): Promise<number> {
  const trace = await withBackbone(({ store }) => readTrace(store, runId));
  if (asJson) printJson(trace);
  else traceLines(trace).forEach(print);
  return trace.ok ? EXIT.done : EXIT.failed;
}

async function readTrace(store: RunStore, runId: string): Promise<Trace> {
  const { run, lines } = await readSaved(store, runId);
  const results = new Map<string, string>();
  for (const callId of referencedCalls(lines.map(parseEvent))) {
    const text = await store.result(runId, callId);
    if (text !== null) results.set(callId, text);
  }
  return traceOf({ state: parseRunState(run.json), lines, results });
}

export function traceLines(trace: Trace): string[] {
  const { claims, outcome, broken } = trace;
  const what = outcome === "answer" || outcome === "effect" ? "claims" : "facts";
  const good = claims.filter((claim) => claim.broken === null).length;
  const total = `${good} of ${claims.length} ${what} traced to the recorded bytes`;
  return [
    `run ${trace.id}  ${trace.status}${trace.reason === null ? "" : `/${trace.reason}`}`,
    ...(broken === null ? [] : [brokenLine(broken)]),
    ...claims.flatMap(claimLines),
    "",
    trace.ok ? `${paint("green", "ok")}  ${total}` : `${paint("red", "BROKEN")}  ${total}`,
  ];
}

function claimLines(claim: TracedClaim): string[] {
  const { factId, key, value, source, call, recorded, broken } = claim;
  const said = `${oneLine(key, 60)} = ${oneLine(JSON.stringify(value), SHOWN_CHARS)}`;
  return [
    "",
    `${paint("bold", said)}${source?.partial === true ? " (cut)" : ""}`,
    ...(source === null ? [] : [`  fact      ${factId}, ${sourceText(source)}`]),
    ...(call === null
      ? []
      : [
          `  args      ${oneLine(JSON.stringify(call.args), SHOWN_CHARS)}`,
          `  reason    ${oneLine(call.reason, SHOWN_CHARS)}`,
        ]),
    ...(recorded === null
      ? []
      : [
          `  recorded  ${recorded.chars} characters in the ${recorded.in}, SHA-256 ${recorded.digest.slice(0, DIGEST_SHOWN_CHARS)}…`,
        ]),
    ...(recorded?.value === undefined
      ? []
      : [`  value     ${oneLine(JSON.stringify(recorded.value), SHOWN_CHARS)}`]),
    ...(broken === null ? [] : [brokenLine(broken)]),
  ];
}

function brokenLine({ link, detail }: NonNullable<Trace["broken"]>): string {
  return `  ${paint("red", "broken")}    ${link}: ${oneLine(detail, 2 * SHOWN_CHARS)}`;
}
