/**
 * The protocol of a run as a person reads it: a header, a block for each step, then what came of
 * it. Every line is a pure function of the view; printing is all that is added.
 */
import { describeTest } from "../core/condition.ts";
import { expectationSchema, testOf } from "../core/decision.ts";
import type { Json } from "../core/json.ts";
import type { ProtocolRow } from "../core/protocol.ts";
import type { RunView } from "../core/run-view.ts";
import { paint, print, type Colour } from "./command.ts";
import { outcomeLines, statusText } from "./outcome-view.ts";
import { moneyText, oneLine, plain, timeText } from "./table.ts";

/** Spent so far, the step in question included. */
export interface Totals {
  readonly tokens: number;
  readonly moneyMicroUsd: number;
}

const SHOWN_CHARS = 400;
const LABEL_WIDTH = 11;

export function printRun(view: RunView): void {
  runLines(view).forEach(print);
}

/** Without totals only the step's own cost is told. */
export function printStep(row: ProtocolRow, totals?: Totals): void {
  stepLines(row, totals).forEach(print);
}

export function printOutcome(view: RunView): void {
  outcomeLines(view).forEach(print);
}

export function runLines(view: RunView): string[] {
  return [
    ...headerLines(view),
    ...view.steps.flatMap((row, i) => [
      "",
      ...stepLines(row, totalsOf(view.steps.slice(0, i + 1))),
    ]),
    ...outcomeLines(view),
  ];
}

export function totalsOf(rows: readonly ProtocolRow[]): Totals {
  return {
    tokens: rows.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0),
    moneyMicroUsd: rows.reduce((sum, row) => sum + row.moneyMicroUsd, 0),
  };
}

function headerLines(view: RunView): string[] {
  const { spent } = view.budget;
  const { name, version } = view.agent;
  const origin = view.forkedFrom;
  const counts = [
    `${spent.steps} steps`,
    `${spent.tokens} tokens`,
    moneyText(spent.moneyMicroUsd),
    ...(view.resumes > 0 ? [`resumed ${view.resumes} times`] : []),
    ...(view.paidButLost > 0
      ? [`${view.paidButLost} paid but lost, up to ${moneyText(view.budget.lost.moneyMicroUsd)}`]
      : []),
  ];
  return [
    `${paint("bold", `run ${plain(view.id)}`)}  ${statusText(view)}`,
    field("agent", `${oneLine(name, 60)} ${oneLine(version, 60)}`),
    field("ticket", oneLine(view.ticketId, 80)),
    ...(origin === undefined
      ? []
      : [field("forked", `from ${plain(origin.runId)} before its step ${origin.step}`)]),
    field("spent", counts.join(", ")),
    field("created", `${timeText(view.createdAt)}, ended ${timeText(view.endedAt)}`),
  ];
}

export function stepLines(row: ProtocolRow, totals?: Totals): string[] {
  const tool = row.tool === null ? "no call" : oneLine(row.tool, 60);
  const [colour, word] = resultOf(row);
  return [
    [paint("bold", `step ${row.step}`), tool, paint(colour, word)].join("  ").trimEnd(),
    ...optional("source", row.source === "kept" ? "kept from an earlier reply" : null),
    ...optional("reason", row.reason),
    ...optional("args", row.args === null ? null : JSON.stringify(row.args)),
    ...optional("expected", row.expected === null ? null : expectedText(row.expected)),
    ...optional("verdict", row.verdict),
    ...row.why.flatMap((sentence) => optional(whyLabel(row), sentence)),
    ...optional("permission", permissionText(row)),
    ...optional("handler", row.handlerRuns > 1 ? `ran ${row.handlerRuns} times` : null),
    ...optional("left out", row.notExecuted > 0 ? `${row.notExecuted} calls not executed` : null),
    field("cost", costText(row, totals)),
    field("time", `${row.ms.total} ms: decide ${row.ms.decide}, act ${row.ms.act}`),
  ];
}

/** The word beside the tool: how the run ended here, else what came of the call. */
function resultOf(row: ProtocolRow): readonly [Colour, string] {
  if (row.status !== null) {
    const colour = row.status === "completed" ? "green" : "yellow";
    const repeated = row.earlierStep === null ? "" : `, as in step ${row.earlierStep}`;
    return [colour, `${row.status}/${row.statusReason}${repeated}`];
  }
  if (row.error !== null) return ["yellow", row.error];
  if (row.verdict === null) return ["dim", ""];
  return [row.verdict === "confirmed" ? "green" : "yellow", row.verdict];
}

function whyLabel(row: ProtocolRow): string {
  if (row.error !== null) return "error";
  return row.verdict === null || row.verdict === "confirmed" ? "because" : "found";
}

function permissionText({ permission }: ProtocolRow): string | null {
  return permission === null ? null : `${permission.answer} by rule ${permission.rule}`;
}

/** `orderId "A-1": /status exists; closes q1`; what is no expectation is shown as it came. */
export function expectedText(expected: Json): string {
  const parsed = expectationSchema.safeParse(expected);
  if (!parsed.success) return JSON.stringify(expected);
  const { about = {}, fields, closes } = parsed.data;
  const subject = Object.entries(about).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const checks = fields.map((f) => `${f.pointer || "the result"} ${describeTest(testOf(f))}`);
  const head = subject.length === 0 ? "" : `${subject.join(", ")}: `;
  return `${head}${checks.join(", ")}${closes === undefined ? "" : `; closes ${closes}`}`;
}

function costText(row: ProtocolRow, totals: Totals | undefined): string {
  const { tokens, moneyMicroUsd, model, contextTokens, failedAttempts } = row;
  const context = contextTokens === null ? "" : `, context ${contextTokens}`;
  const failed = failedAttempts === 0 ? "" : `, ${failedAttempts} failed attempts`;
  const asked = model === null ? "" : `${model}: `;
  const cached = `(${tokens.cached} cached)`;
  const own = `${asked}${tokens.input} + ${tokens.output} tokens ${cached}${context}${failed}`;
  const soFar =
    totals === undefined
      ? ""
      : `; so far ${totals.tokens} tokens, ${moneyText(totals.moneyMicroUsd)}`;
  return `${own}, ${moneyText(moneyMicroUsd)}${soFar}`;
}

function optional(label: string, text: string | null): string[] {
  return text === null || text === "" ? [] : [field(label, oneLine(text, SHOWN_CHARS))];
}

function field(label: string, text: string): string {
  return `  ${paint("dim", label.padEnd(LABEL_WIDTH))}${text}`;
}
