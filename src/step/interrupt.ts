/**
 * A cancel that comes while the step's call is out: the call's signal is aborted and the run ends,
 * instead of at its next step. Where a call has been decided on it is still started: what is
 * aborted is a call in flight, never one half begun.
 */
import { parseHappening } from "../core/event.ts";
import { stop, type Stop } from "../core/stop.ts";
import { record, type Interrupt, type StepDeps, type Work } from "./work.ts";

export function watchInterrupt(deps: Pick<StepDeps, "interrupts">, runId: string): Interrupt {
  const abort = new AbortController();
  let cancel: ReturnType<Interrupt["cancel"]> = null;
  const unwatch = deps.interrupts?.watch(runId, (entry) => {
    const happening = parseHappening(entry);
    if (happening?.kind !== "cancel") return;
    cancel ??= happening;
    abort.abort(new Error("the run was cancelled"));
  });
  return { signal: abort.signal, cancel: () => cancel, unwatch: unwatch ?? (() => undefined) };
}

/** Takes the cancel in as if it had been read from the inbox, which the end of the run empties. */
export function observeCancel(deps: Pick<StepDeps, "now">, work: Work): Stop {
  const happening = work.interrupt.cancel();
  if (happening === null) throw new Error("an interrupt without a cancel");
  if (!work.state.seen.includes(happening.id)) {
    record(work, deps.now(), { type: "observed", happening });
  }
  return stop("cancelled", "by_operator", happening.why);
}

/**
 * Aborts `controller` when the interrupt comes, at once if it has come; returns what undoes it.
 */
export function followInterrupt(interrupt: Interrupt, controller: AbortController): () => void {
  const { signal } = interrupt;
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
