/**
 * One structured line a step (semantics, section 9), and one a fault. A line says what a person on
 * call needs and nothing that a customer or a model wrote.
 */
import { pino, type DestinationStream, type Logger } from "pino";
import type { Event } from "../core/event.ts";
import { messageOf, PawlError } from "../core/errors.ts";
import { protocolOf } from "../core/protocol.ts";
import type { RunState } from "../core/run-state.ts";
import { redact, redactText } from "./redact.ts";

export type { Logger } from "pino";

/** Takes the level and where lines go (default: stdout). */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export function createStepLog(logger: Logger) {
  return {
    step(state: RunState, events: readonly Event[]): void {
      // What the on-call engineer is woken for stands out by its level.
      const level = state.status === "failed" ? "error" : "info";
      if (!logger.isLevelEnabled(level)) return;
      logger[level](stepLine(state, events), "step");
    },
    fault(job: { readonly runId: string; readonly step: number }, error: unknown): void {
      const code = error instanceof PawlError ? error.code : "internal_error";
      const path = error instanceof PawlError ? error.path : undefined;
      // The text of a foreign error may quote what it choked on; a code of ours never does.
      const detail = error instanceof PawlError ? messageOf(error) : (error as Error)?.name;
      logger.error({ run: job.runId, step: job.step, code, path, detail }, "step fault");
    },
  };
}

/** The fields of a step's line; the arguments and the expectation redacted. */
export function stepLine(state: RunState, events: readonly Event[]) {
  const row = protocolOf(events).at(-1);
  const took = events.findLast((event) => event.type === "step_ended" || event.type === "ended");
  return {
    run: state.id,
    step: row?.step ?? state.step,
    agent: state.agent.name,
    source: row?.source ?? null,
    reason: row?.reason === null || row?.reason === undefined ? null : redact(row.reason),
    tool: row?.tool === null || row?.tool === undefined ? null : redactText(row.tool),
    args: row?.args === null || row?.args === undefined ? null : redact(row.args),
    expected: row?.expected === null || row?.expected === undefined ? null : redact(row.expected),
    verdict: row?.verdict ?? null,
    permission: row?.permission?.answer ?? null,
    rule: row?.permission?.rule ?? null,
    error: row?.error ?? null,
    handlerRuns: row?.handlerRuns ?? 0,
    model: row?.model ?? null,
    contextTokens: row?.contextTokens ?? null,
    failedAttempts: row?.failedAttempts ?? 0,
    tokens: state.spent.tokens,
    moneyMicroUsd: state.spent.moneyMicroUsd,
    ms: { ...row?.ms, ...(took?.type === "step_ended" ? { total: took.ms } : {}) },
    resumes: state.resumes,
    status: state.status,
    statusReason: state.reason,
  };
}
