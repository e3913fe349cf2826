/**
 * (state, fault) → how a run goes on after a request that gave no decision: again after a delay,
 * with the fallback model, or not at all. Pure: the caller brings the randomness.
 */
import type { ModelFault, RunState } from "./run-state.ts";
import { stop, type Stop } from "./stop.ts";

export type AfterFault =
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "fall_back"; readonly why: string }
  | { readonly do: "stop"; readonly stop: Stop };

/** First delays of our own in ms; a server that counts requests needs more than one that broke. */
const FIRST_MS: Readonly<Record<"retry" | "rate_limit", number>> = {
  retry: 250,
  rate_limit: 1_000,
};
const LONGEST_OWN_MS = 30_000;
/** Beyond any limit that a run may set; no timer of ours is longer. */
const LONGEST_ASKED_MS = 24 * 3_600_000;

/**
 * Takes the state with the fault counted, whether another model is left, and a random number in
 * [0, 1).
 */
export function afterFault(
  state: RunState,
  fault: ModelFault,
  { hasFallback, random }: { readonly hasFallback: boolean; readonly random: number },
): AfterFault {
  const { kind, message } = fault;
  if (kind === "content") {
    return { do: "stop", stop: stop("handoff", "model_refused", message) };
  }
  const faults = state.retry?.faults ?? 1;
  const most = state.limits.providerRetries;
  const isUsedUp = kind === "final" || (most !== null && faults > most);
  if (isUsedUp) return givenUp(hasFallback, message);
  const { retryAfterMs } = fault;
  if (retryAfterMs !== null && retryAfterMs > 0) {
    const ceiling = state.limits.retryAfterMaxMs ?? LONGEST_ASKED_MS;
    return { do: "wait", ms: Math.min(retryAfterMs, ceiling, LONGEST_ASKED_MS) };
  }
  const full = Math.min(LONGEST_OWN_MS, FIRST_MS[kind] * 2 ** (faults - 1));
  return { do: "wait", ms: Math.round(full * (0.5 + random / 2)) };
}

/** One more fault and this model is given up. */
export function isLastTry({ retry, limits }: RunState): boolean {
  const most = limits.providerRetries;
  return most !== null && most > 0 && (retry?.faults ?? 0) >= most;
}

/** Takes the ms for which a gate holds the run back: waiting for others has a bound as well. */
export function afterGate(state: RunState, ms: number, hasFallback: boolean): AfterFault {
  const waited = (state.retry?.gatedMs ?? 0) + ms;
  const most = state.limits.retryAfterMaxMs;
  return most !== null && waited > most
    ? givenUp(hasFallback, `the model's rate limit held this run back for over ${most} ms`)
    : { do: "wait", ms };
}

function givenUp(hasFallback: boolean, why: string): AfterFault {
  return hasFallback
    ? { do: "fall_back", why }
    : { do: "stop", stop: stop("blocked", "provider_unavailable", why) };
}
