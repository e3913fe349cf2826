/**
 * What all commands share: where output goes and how a failure is told. People get text and colour
 * on a terminal only; `--json` is JSON on stdout and nothing else. Exit 0 done, 1 failed, 2 usage
 * or config.
 */
import { styleText } from "node:util";
import { messageOf, PawlError, type ErrorCode } from "../core/errors.ts";

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

const USAGE_CODES: readonly ErrorCode[] = [
  "PAWL_USAGE",
  "PAWL_CONFIG_INVALID",
  "PAWL_CONFIG_UNKNOWN_NAME",
  "PAWL_CASE_INVALID",
  "PAWL_CASE_NOT_SUPPORTED",
  "PAWL_CASE_NO_ANSWER",
  "PAWL_TICKET_INVALID",
  "PAWL_AGENT_UNKNOWN",
  "PAWL_AGENT_INVALID",
  "PAWL_TOOL_INVALID",
  "PAWL_REDIS_NOT_FOUND",
  "PAWL_REDIS_UNREACHABLE",
  "PAWL_REDIS_UNSAFE",
  "PAWL_PROVIDER_MISSING",
  "PAWL_PRICE_UNKNOWN",
  "PAWL_EXCHANGE_INVALID",
  "PAWL_LIMIT_ABOVE_CEILING",
];

export type Colour = Parameters<typeof styleText>[0];

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

export function paint(colour: Colour, text: string): string {
  return process.stdout.isTTY ? styleText(colour, text) : text;
}

/** Tells a failure on stderr, as text or as the JSON of the contract; returns the exit code. */
export function tellFailure(error: unknown, asJson: boolean): number {
  const code = error instanceof PawlError ? error.code : "internal_error";
  const message = messageOf(error, 2_000);
  const path = error instanceof PawlError ? error.path : undefined;
  const line = asJson
    ? JSON.stringify({ error: { code, message, ...(path === undefined ? {} : { path }) } })
    : `${code}: ${message}`;
  process.stderr.write(`${line}\n`);
  return error instanceof PawlError && USAGE_CODES.includes(error.code) ? EXIT.usage : EXIT.failed;
}
