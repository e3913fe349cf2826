/**
 * What came of a run as a person reads it: facts with their sources, what is open, both sides of
 * what contradicts, every message that left, and the outcome.
 */
import { unreachable } from "../core/errors.ts";
import type { Approval } from "../core/approval.ts";
import type { Contradiction, Fact, SupportedClaim } from "../core/fact.ts";
import type { Dump, Outcome } from "../core/outcome.ts";
import type { RunView } from "../core/run-view.ts";
import { paint } from "./command.ts";
import { oneLine, plain, tableLines, timeText } from "./table.ts";

const VALUE_CHARS = 60;
const TEXT_CHARS = 400;

/** `completed/answered`, or for what a waiting run waits and until when. */
export function statusText(view: Pick<RunView, "status" | "reason" | "waiting">): string {
  const { status, reason, waiting } = view;
  if (waiting !== null) {
    const until = waiting.until === null ? "" : ` until ${timeText(waiting.until)}`;
    return paint("yellow", `waiting for ${waiting.for}${until}`);
  }
  if (status === "queued" || status === "running") return paint("cyan", status);
  const colour = status === "completed" ? "green" : status === "failed" ? "red" : "yellow";
  return paint(colour, `${status}/${reason}`);
}

export function outcomeLines(view: RunView): string[] {
  const { outcome } = view;
  const isReported = outcome?.kind === "handoff" || outcome?.kind === "stop";
  return [
    ...section("facts", factTable(view.facts)),
    // A report repeats them; they are told once.
    ...(isReported ? [] : section("open questions", questionLines(view.openQuestions))),
    ...(isReported ? [] : section("contradictions", sideLines(view.contradictions))),
    ...section("approvals", view.approvals.flatMap(approvalLines)),
    ...section("messages sent", view.outward.flatMap(messageLines)),
    "",
    `${paint("bold", "outcome")}  ${statusText(view)}`,
    ...(outcome === null ? [] : reportLines(outcome, view)),
  ];
}

function reportLines(outcome: Outcome, view: RunView): string[] {
  switch (outcome.kind) {
    case "answer":
      return [...saidLines("answer", outcome.message, view), ...claimLines(outcome.claims)];
    case "effect":
      return [
        `  effect      ${oneLine(outcome.tool, 60)}, call ${outcome.callId}, approved as ${outcome.approvalId}`,
        ...(outcome.message === null ? [] : saidLines("message", outcome.message, view)),
        ...claimLines(outcome.claims),
      ];
    case "handoff":
      return [
        `  queue       ${oneLine(outcome.queue, 60)}`,
        ...(outcome.summary === null
          ? []
          : [`  summary     ${oneLine(outcome.summary, TEXT_CHARS)}`]),
        ...evidenceLines(outcome),
      ];
    case "stop":
      return [
        `  because     ${oneLine(outcome.detail, TEXT_CHARS)}`,
        ...dumpLines(outcome.dump),
        ...evidenceLines(outcome),
      ];
    default:
      return unreachable(outcome, "outcome kind");
  }
}

/** What the on-call engineer needs of a step that its workers did not survive. */
function dumpLines(dump: Dump | undefined): string[] {
  if (dump === undefined) return [];
  const { step, claims, crashes, faults, onDisk, call } = dump;
  const inHand = call === null ? "no call" : `call ${call.callId} ${oneLine(call.tool, 60)}`;
  return [
    `  step        ${step}: tried ${claims} times, ${crashes} workers died, ${faults} threw; ${inHand}`,
    ...onDisk.map(({ type, at }) => `    ${timeText(at)}  ${oneLine(type, 40)}`),
  ];
}

/** The text stands once, among the messages; the outcome names it. */
function saidLines(label: string, text: string, view: RunView): string[] {
  const sent = view.outward.find((message) => message.text === text);
  const shown = sent === undefined ? oneLine(text, TEXT_CHARS) : `message ${sent.id} above`;
  return [`  ${label.padEnd(12)}${shown}`];
}

function claimLines(claims: readonly SupportedClaim[]): string[] {
  if (claims.length === 0) return ["  claims      none"];
  return ["  claims", ...claims.map(({ factId, key, value }) => shortLine(factId, key, value))];
}

type Report = Extract<Outcome, { kind: "handoff" | "stop" }>;

function evidenceLines({ known, unknown, contradicts, tried }: Report): string[] {
  return [
    ...part(
      "known",
      known.map(({ id, key, value }) => shortLine(id, key, value)),
    ),
    ...part("unknown", indent(questionLines(unknown))),
    ...part("contradicting", indent(sideLines(contradicts))),
    ...part(
      "tried",
      tried.map(
        ({ step, tool, args, outcome }) =>
          `    step ${step}  ${oneLine(tool, 60)} ${oneLine(args, 120)}  ${outcome}`,
      ),
    ),
  ];
}

/** Said also when there is none: an empty part is a statement. */
function part(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`  ${title.padEnd(14)}none`] : [`  ${title}`, ...lines];
}

function shortLine(id: string, key: string, value: Fact["value"]): string {
  return `    ${id.padEnd(4)}${oneLine(key, 60)} = ${oneLine(JSON.stringify(value), VALUE_CHARS)}`;
}

const FACT_COLUMNS = [
  { title: "id" },
  { title: "fact" },
  { title: "value" },
  { title: "source" },
  { title: "observed" },
];

function factTable(facts: readonly Fact[]): string[] {
  if (facts.length === 0) return [];
  const rows = facts.map((fact) => [
    fact.id,
    oneLine(fact.key, 60),
    `${oneLine(JSON.stringify(fact.value), VALUE_CHARS)}${fact.partial ? " (cut)" : ""}`,
    sourceText(fact),
    timeText(fact.observedAt),
  ]);
  return indent(tableLines(FACT_COLUMNS, rows));
}

export function sourceText(fact: Pick<Fact, "step" | "callId" | "tool" | "pointer">): string {
  const { step, callId, tool, pointer } = fact;
  return `step ${step}, ${callId} ${oneLine(tool, 60)} ${oneLine(pointer, 80) || "(all)"}`;
}

function questionLines(questions: readonly { readonly id: string; readonly text: string }[]) {
  return questions.map(({ id, text }) => `  ${id}  ${oneLine(text, TEXT_CHARS)}`);
}

function sideLines(contradictions: readonly Contradiction[]): string[] {
  return contradictions.flatMap(({ rule, sides }) => [
    `  ${oneLine(rule, 80)}`,
    ...sides.map((fact) => `${shortLine(fact.id, fact.key, fact.value)}  (${sourceText(fact)})`),
  ]);
}

function approvalLines(approval: Approval): string[] {
  const { id, tool, args, status, expiresAt, by, note } = approval;
  const who = by === null ? "" : ` by ${oneLine(by, 60)}`;
  const until = status === "pending" ? ` until ${timeText(expiresAt)}` : "";
  const said = note === null ? "" : `: ${oneLine(note, TEXT_CHARS)}`;
  return [
    `  ${id}  ${status}${until}${who}${said}`,
    `    ${oneLine(tool, 60)} ${oneLine(JSON.stringify(args), TEXT_CHARS)}`,
  ];
}

function messageLines({ id, kind, step, text }: RunView["outward"][number]): string[] {
  return [`  ${id}  ${kind}, step ${step}`, ...indent(plain(text).split("\n"), 4)];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", paint("bold", title), ...lines];
}

function indent(lines: readonly string[], spaces = 2): string[] {
  return lines.map((line) => `${" ".repeat(spaces)}${line}`);
}
