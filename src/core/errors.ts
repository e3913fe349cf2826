/**
 * Every failure that Pawl can name, with one code each and what the caller should do about it.
 * What goes wrong as expected inside a run is a value (an event), never one of these.
 */

/**
 * retry: infrastructure, try again later; stop: the asked thing cannot be done; park: leave the
 * run untouched.
 */
export type Disposition = "retry" | "stop" | "park";

/** The registry. A row each in docs/errors.md; the disposition is part of the contract. */
export const ERROR_CODES = {
  PAWL_CONFIG_INVALID: "stop",
  PAWL_CONFIG_UNKNOWN_NAME: "stop",
  PAWL_CASE_INVALID: "stop",
  PAWL_CASE_NOT_SUPPORTED: "stop",
  PAWL_CASE_NO_ANSWER: "stop",
  PAWL_TICKET_INVALID: "stop",
  PAWL_AGENT_UNKNOWN: "stop",
  PAWL_AGENT_INVALID: "stop",
  PAWL_TOOL_INVALID: "stop",
  PAWL_POLICY_INVALID: "stop",
  PAWL_RUN_NOT_FOUND: "stop",
  PAWL_RUN_TERMINAL: "stop",
  PAWL_STATE_UNREADABLE: "park",
  PAWL_EVENT_UNREADABLE: "park",
  PAWL_REPLAY_MISMATCH: "stop",
  PAWL_STEP_AHEAD: "retry",
  PAWL_STEP_CONFLICT: "retry",
  PAWL_REDIS_NOT_FOUND: "stop",
  PAWL_REDIS_UNREACHABLE: "retry",
  PAWL_REDIS_UNSAFE: "stop",
  PAWL_PROVIDER_FAULT: "retry",
  PAWL_PROVIDER_MISSING: "stop",
  PAWL_PRICE_UNKNOWN: "stop",
  PAWL_EXCHANGE_INVALID: "stop",
  PAWL_LIMIT_ABOVE_CEILING: "stop",
  PAWL_USAGE: "stop",
} as const satisfies Record<string, Disposition>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorDetail {
  /** Where in the input the fault is, as a JSON pointer or a dotted path. */
  readonly path?: string;
  readonly cause?: unknown;
}

export class PawlError extends Error {
  readonly code: ErrorCode;
  readonly disposition: Disposition;
  readonly path: string | undefined;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = "PawlError";
    this.code = code;
    this.disposition = ERROR_CODES[code];
    this.path = detail.path;
  }
}

/**
 * The text of anything thrown, cut: handlers throw strings, objects with cycles and nothing at
 * all.
 */
export function messageOf(thrown: unknown, maxLength = 300): string {
  let text: string;
  try {
    // Some libraries put an object where the message belongs.
    text = String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    text = "a value that cannot be shown";
  }
  return text.length > maxLength ? `${text.slice(0, maxLength)}… (cut)` : text;
}

export function unreachable(value: never, what: string): never {
  throw new Error(`unreachable ${what}: ${JSON.stringify(value)}`);
}
