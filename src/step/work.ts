/**
 * The work of one claimed step: the state so far, its events, and which of them are on disk
 * already. Recording an event is folding it: state and journal cannot drift apart.
 */
import type { AgentPack } from "../agents/agent.ts";
import type { Event, Happening } from "../core/event.ts";
import { reduce } from "../core/reduce.ts";
import type { RunState } from "../core/run-state.ts";
import type { Status } from "../core/stop.ts";
import type { Policy } from "../policy/policy.ts";
import type { Provider } from "../providers/provider.ts";
import type { ModelGates } from "../store/model-gates.ts";
import type { Fence, RunStore, Tries } from "../store/run-store.ts";
import type { Interrupts } from "../queue/interrupts.ts";
import type { StepJob } from "../queue/step-queue.ts";
import type { EffectLedger } from "../store/effect-ledger.ts";
import type {
  AccountDay,
  AccountMove,
  DayLimits,
  TenantAccounts,
} from "../store/tenant-account.ts";

/**
 * Named places where tests let a worker die, freeze or hear something; see cases/crash-points.ts.
 */
export type CrashPoint =
  | "after_load"
  | "after_reserve"
  | "after_decide"
  | "after_journal"
  | "before_act"
  | "after_act"
  | "before_save"
  | "after_save"
  | "after_enqueue";

export interface StepDeps {
  readonly store: RunStore;
  /** Adds the job of a step: only for a job that finds its own step already done. */
  readonly addJob: (runId: string, step: number) => Promise<void>;
  readonly ledger: Pick<EffectLedger, "countOf">;
  /** Absent: a rate limit slows only the run that meets it. */
  readonly gates?: ModelGates;
  /** Absent: a cancel is heard at the next step only. */
  readonly interrupts?: Pick<Interrupts, "watch">;
  /** The job of a step after a delay in ms: the timer of a wait. */
  readonly addTimer: (runId: string, step: number, delayMs: number) => Promise<void>;
  /** The agent and the model of a run; null: this worker cannot work on it, another may. */
  readonly resolve: (state: RunState) => Promise<Mind | null>;
  /** The tenants that have a budget for the day; absent: none has. */
  readonly tenants?: TenantBudgets;
  /** Replaces the agent's own policy; for policies configured from outside. */
  readonly policy?: Policy;
  /** ms since epoch. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: StepLog;
  /** Absent in production: a point then costs one comparison. */
  readonly reach?: (point: CrashPoint, job: StepJob) => Promise<void>;
}

/** What tenants may spend in a day, and what they have spent. */
export interface TenantBudgets extends TenantAccounts {
  /** Null: this tenant has no budget of its own. */
  readonly dayLimits: (tenant: string) => DayLimits | null;
}

/** What thinks and acts for a run. */
export interface Mind {
  readonly agent: AgentPack;
  readonly provider: Provider;
  /** The cheaper model of steps that the agent calls routine; absent: one model for all. */
  readonly routine?: Provider;
  /** Takes over for the rest of a run whose model gave up; absent: the run ends. */
  readonly fallback?: Provider;
  /** Cases only: waits are over at once. */
  readonly fastForward?: boolean;
}

/** What the step tells its log; redaction is the logger's. */
export interface StepLog {
  readonly step: (state: RunState, events: readonly Event[]) => void;
  readonly fault: (job: StepJob, error: unknown) => void;
}

/** A cancel that may come while a call is out (interrupt.ts). */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** What was said; null before it came. */
  readonly cancel: () => Extract<Happening, { kind: "cancel" }> | null;
  readonly unwatch: () => void;
}

export interface Work {
  readonly job: StepJob;
  readonly agent: AgentPack;
  readonly provider: Provider;
  readonly routine?: Provider;
  readonly fallback?: Provider;
  readonly fastForward?: boolean;
  readonly fence: Fence;
  readonly signal: AbortSignal;
  readonly interrupt: Interrupt;
  readonly tries: Tries;
  /** The status under which the store has the run indexed. */
  readonly savedStatus: Status;
  /** Inbox entries taken in. */
  readonly heard: number;
  readonly startedAt: number;
  state: RunState;
  readonly events: Event[];
  /** How many of the events are in the step's journal already. */
  journaled: number;
  /** The tenant's day of which a call that is out holds a part. */
  hold: AccountDay | null;
  /** Goes to disk with the next journal write. */
  settle: AccountMove | null;
}

type WithoutBase<T> = T extends Event ? Omit<T, "at" | "step"> : never;
/** An event without time and step, which the work gives it. */
export type NewEvent = WithoutBase<Event>;

export function record(work: Work, at: number, event: NewEvent): void {
  take(work, { ...event, at, step: work.state.step });
}

/** For an event that had to be on disk first. */
export function take(work: Work, event: Event): void {
  work.state = reduce(work.state, event);
  work.events.push(event);
}

/**
 * Writes what is not yet in the step's journal, and settles what was held of the tenant's day with
 * it; lost: another worker has the step.
 */
export async function journal(deps: StepDeps, work: Work): Promise<"written" | "lost"> {
  const fresh = work.events.slice(work.journaled);
  if (fresh.length === 0) return "written";
  const written = await deps.store.journal(work.fence, fresh, work.settle);
  if (written !== "applied") return "lost";
  work.journaled = work.events.length;
  work.settle = null;
  return "written";
}
