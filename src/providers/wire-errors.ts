/**
 * One table for what went wrong with a request to an OpenAI server: what to do about it, whether it
 * may have been paid, and how long the server asks to be left alone.
 */
import { z } from "zod";
import type { FaultKind } from "../core/decision.ts";
import type { Fate } from "./provider.ts";

export interface WireFault {
  readonly disposition: FaultKind;
  readonly fate: Fate["fate"];
  /** ms; null: the server did not say, or nothing that can be believed. */
  readonly retryAfterMs: number | null;
  /** Status and code; never the server's own words, which may quote the prompt. */
  readonly message: string;
}

export interface FailedResponse {
  /** Null: no response came. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Servers differ in where the code stands and of which type it is. */
const errorSchema = z.object({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
});

const QUOTA_CODES: readonly string[] = ["insufficient_quota", "billing_hard_limit_reached"];
const CONTENT_CODES: readonly string[] = [
  "content_filter",
  "content_policy_violation",
  "invalid_prompt",
  "cyber_policy_violation",
  "image_content_policy_violation",
];
const LIMIT_CODES: readonly string[] = ["rate_limit_exceeded", "rate_limit_error"];
const RETRY_CODES: readonly string[] = ["server_error", "vector_store_timeout", "overloaded_error"];

/** A code is shown only if it looks like one: a text of the server's may quote a ticket. */
const CODE = /^[a-z0-9_.-]{1,60}$/i;

/** Takes what came in place of a reply; `now` is ms since epoch, for a date in Retry-After. */
export function classify({ status, headers, body }: FailedResponse, now: number): WireFault {
  const { code, type } = errorOf(body);
  const words = [code, type].filter((word): word is string => word !== null);
  const numeric = code !== null && /^\d{3}$/.test(code) ? Number(code) : null;
  // An error inside a 200 has its status, if any, in its code.
  const real = status !== null && status >= 400 ? status : (numeric ?? status);
  const disposition = dispositionOf(real, words);
  const shown = words.filter((word) => CODE.test(word));
  return {
    disposition,
    fate: fateOf(real),
    retryAfterMs: disposition === "final" ? null : retryAfterMs(headers, now),
    message: [`status ${real ?? "none"}`, ...shown].join(" "),
  };
}

function errorOf(body: unknown): { readonly code: string | null; readonly type: string | null } {
  const inside = z.object({ error: z.unknown() }).safeParse(body);
  const parsed = errorSchema.safeParse(inside.success ? inside.data.error : body);
  if (!parsed.success) return { code: null, type: null };
  const { code, type } = parsed.data;
  return { code: code === null || code === undefined ? null : String(code), type: type ?? null };
}

function dispositionOf(status: number | null, words: readonly string[]): FaultKind {
  const is = (codes: readonly string[]): boolean => words.some((word) => codes.includes(word));
  if (is(QUOTA_CODES)) return "final";
  if (is(CONTENT_CODES)) return "content";
  if (status === 429 || is(LIMIT_CODES)) return "rate_limit";
  if (status === 408 || status === 409 || (status ?? 500) >= 500 || is(RETRY_CODES)) return "retry";
  // A success that is no reply: a proxy's page, a stream cut short. The next one may be whole.
  return status !== null && status >= 400 ? "final" : "retry";
}

/** Behind a gateway that gave up the server may have worked on, and charged for it. */
function fateOf(status: number | null): Fate["fate"] {
  return status === null || status < 400 || status === 502 || status === 504
    ? "unknown"
    : "refused";
}

/** Milliseconds, seconds or a date, in this order; negative, unreadable and past ones are none. */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  now: number,
): number | null {
  const ms = Number(headers["retry-after-ms"]?.trim() || Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms);
  const after = headers["retry-after"]?.trim();
  if (after === undefined || after === "") return null;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1_000) : null;
  // Only a date as HTTP writes it: Date.parse would also read "soon 5" as the month of May.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(after)) return null;
  const at = Date.parse(after);
  return Number.isFinite(at) && at > now ? at - now : null;
}
