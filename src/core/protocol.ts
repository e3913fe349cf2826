/**
 * The run as a protocol: one row a step, folded from the journal. What `show` prints, what the case
 * runner compares and what the step's log line says are these rows.
 */
import type { Event, EventOf } from "./event.ts";
import type { Json } from "./json.ts";
import type { Permission } from "./approval.ts";

export interface ProtocolRow {
  readonly step: number;
  readonly source: "model" | "kept" | null;
  readonly tool: string | null;
  readonly args: Json | null;
  readonly reason: string | null;
  readonly expected: Json | null;
  readonly verdict: "confirmed" | "unconfirmed" | "contradicted" | null;
  readonly why: readonly string[];
  readonly permission: Pick<Permission, "answer" | "rule"> | null;
  readonly error: string | null;
  readonly handlerRuns: number;
  readonly notExecuted: number;
  /** For a repeat: the step that made the call first. */
  readonly earlierStep: number | null;
  readonly status: string | null;
  readonly statusReason: string | null;
  /** The model that decided; null for a step without a model call. */
  readonly model: string | null;
  /** Input tokens of the decision's request, as its server counted, else as it was counted here. */
  readonly contextTokens: number | null;
  /** Requests of this step that gave no decision; what they cost is in its tokens and money. */
  readonly failedAttempts: number;
  readonly tokens: { readonly input: number; readonly cached: number; readonly output: number };
  readonly moneyMicroUsd: number;
  readonly ms: { readonly decide: number; readonly act: number; readonly total: number };
}

const NO_TOKENS = { input: 0, cached: 0, output: 0 };

function emptyRow(step: number): ProtocolRow {
  return {
    step,
    source: null,
    tool: null,
    args: null,
    reason: null,
    expected: null,
    verdict: null,
    why: [],
    permission: null,
    error: null,
    handlerRuns: 0,
    notExecuted: 0,
    earlierStep: null,
    status: null,
    statusReason: null,
    model: null,
    contextTokens: null,
    failedAttempts: 0,
    tokens: NO_TOKENS,
    moneyMicroUsd: 0,
    ms: { decide: 0, act: 0, total: 0 },
  };
}

/** One row a step that decided something or ended the run; a step that only woke up has none. */
export function protocolOf(events: readonly Event[]): ProtocolRow[] {
  const rows = new Map<number, ProtocolRow>();
  for (const event of events) {
    const row = rows.get(event.step) ?? emptyRow(event.step);
    const told = tell(row, event);
    if (told !== row) rows.set(event.step, told);
  }
  return [...rows.values()].toSorted((a, b) => a.step - b.step);
}

function tell(row: ProtocolRow, event: Event): ProtocolRow {
  switch (event.type) {
    case "decided":
      return tellDecided(row, event);
    case "attempt_failed":
      return {
        ...row,
        model: event.model,
        failedAttempts: row.failedAttempts + 1,
        ...spentWith(row, event),
        ms: { ...row.ms, decide: row.ms.decide + event.ms },
      };
    case "permitted": {
      const { answer, rule } = event.permission;
      return { ...row, permission: { answer, rule } };
    }
    case "refused":
      return { ...row, error: event.code, why: [event.message] };
    case "sent_back":
      return { ...row, error: event.code, why: event.unsupported };
    case "nudged":
      return { ...row, error: "terminal_tool_missing" };
    case "not_executed":
      return { ...row, notExecuted: row.notExecuted + event.calls.length };
    case "called":
      return {
        ...row,
        // An approved effect was decided steps ago: here it is carried out.
        tool: row.tool ?? event.tool,
        args: event.args,
        handlerRuns: event.handlerRuns,
        error: event.error?.code ?? null,
        why: event.error === undefined ? row.why : [event.error.message],
        ms: { ...row.ms, act: event.ms.act },
      };
    case "verified":
      return { ...row, verdict: event.verdict, why: event.why };
    case "step_ended":
      return row.tool === null && row.source === null
        ? row
        : { ...row, ms: { ...row.ms, total: event.ms } };
    case "ended":
      return {
        ...row,
        status: event.status,
        statusReason: event.reason,
        earlierStep: event.earlierStep,
        why: row.why.length > 0 ? row.why : [event.detail],
      };
    default:
      return row;
  }
}

function tellDecided(row: ProtocolRow, event: EventOf<"decided">): ProtocolRow {
  const call = event.calls[0];
  const raw = call?.args;
  return {
    ...row,
    source: event.source,
    tool: call?.tool ?? null,
    args:
      raw === undefined ? null : "json" in raw ? raw.json : "text" in raw ? raw.text : raw.notJson,
    reason: call?.reason ?? null,
    expected: call?.expected ?? null,
    model: event.model,
    contextTokens: event.contextTokens,
    ...spentWith(row, event),
    ms: { ...row.ms, decide: row.ms.decide + event.ms },
  };
}

function spentWith(
  { tokens, moneyMicroUsd }: ProtocolRow,
  event: Pick<EventOf<"decided">, "usage" | "moneyMicroUsd">,
) {
  const usage = event.usage ?? NO_TOKENS;
  return {
    tokens: {
      input: tokens.input + usage.input,
      cached: tokens.cached + usage.cached,
      output: tokens.output + usage.output,
    },
    moneyMicroUsd: moneyMicroUsd + event.moneyMicroUsd,
  };
}

/** The codes of the error results the model was given, in order, without what ended the run. */
export function toolErrorsOf(events: readonly Event[]): string[] {
  const ended = events.findLast((event) => event.type === "ended");
  return events.flatMap((event) => {
    if (event.type === "refused") return [event.code];
    if (event.type !== "called" || event.error === undefined) return [];
    return ended !== undefined && ended.step === event.step ? [] : [event.error.code];
  });
}
