/**
 * The contract of the run store: a snapshot, the journal, this step's journal, the inbox. Every
 * write states the revision it expects, so a stale worker changes nothing; every write of ours
 * that a client sends again after a reconnect is recognised by its operation id.
 */
import type { Event, Happening } from "../core/event.ts";
import type { RunState } from "../core/run-state.ts";
import type { EffectIntent } from "./effect-ledger.ts";
import type { Status } from "../core/stop.ts";
import type { AccountMove } from "./tenant-account.ts";

/** Makes the job of a run's step, in the same atomic write where the queue can lend its script. */
export interface StepEnqueuer {
  /**
   * Lua `local function enqueue(KEYS, ARGV) … end`; null: jobs are added apart, after the write.
   */
  readonly lua: string | null;
  readonly keys: readonly string[];
  readonly argv: (runId: string, step: number) => Promise<readonly (string | Buffer)[]>;
  readonly add: (runId: string, step: number) => Promise<void>;
  /** Adds the job or lets a delayed one of the same id run now. */
  readonly wake: (runId: string, step: number) => Promise<void>;
}

export interface NewRun {
  readonly runId: string;
  readonly ticketId: string;
  /** Not ended; its step is the one that gets a job: 1, or where a fork goes on. */
  readonly state: RunState;
  readonly events: readonly Event[];
}

/** What a worker holds while it works on a step; `rev` moves with every write. */
export interface Fence {
  readonly runId: string;
  readonly step: number;
  rev: number;
}

/** How a step has fared so far; all of it is forgotten when the step is saved. */
export interface Tries {
  /** How often it has been claimed, this time included: more than 1 is a resume. */
  readonly claims: number;
  /** Claims that ended in silence: their worker died, or froze until another took the step. */
  readonly crashes: number;
  /** Claims that were given back because the step threw. */
  readonly faults: number;
}

export type Claim =
  | {
      readonly kind: "claimed";
      readonly fence: Fence;
      readonly tries: Tries;
      /** When the step was first claimed, in ms since epoch. */
      readonly since: number;
      /** Snapshot text as stored; parsing is the caller's, who must park what cannot be read. */
      readonly json: string;
      /** What earlier claims of this step have journaled, a line each. */
      readonly journal: readonly string[];
      readonly inbox: readonly string[];
    }
  | { readonly kind: "missing" }
  | { readonly kind: "ended" }
  | { readonly kind: "elsewhere"; readonly step: number };

/** applied: also when it was our own earlier sending. inbox_changed: somebody wrote meanwhile. */
export type Written = "applied" | "conflict" | "inbox_changed";

export interface Save {
  readonly state: RunState;
  /** Every event of this step, the already journaled ones too, in order. */
  readonly events: readonly Event[];
  /** Inbox entries that this state has taken in. */
  readonly heard: number;
  /** A message leaves with this save: refuse it if the inbox holds more than was taken in. */
  readonly onlyIfHeardAll: boolean;
  readonly previousStatus: Status;
}

/** canWait: rather behind the others than as the first request after the gate was shut. */
export interface GateAsked {
  readonly name: string;
  readonly canWait: boolean;
}

/** probe: applied, and the first request after its gate was shut. gatedMs: come again then. */
export type Journaled =
  | Exclude<Written, "inbox_changed">
  | "no_tokens"
  | "no_money"
  | "probe"
  | { readonly gatedMs: number };

/** full: the inbox holds as much as any run may be told at once. */
export type Posted = "posted" | "ended" | "missing" | "full";

/** decided: this call was the one. The others change nothing. */
export type Decided =
  | "decided"
  | "already_decided"
  | "unknown_approval"
  | "arguments_changed"
  | "approval_expired"
  | "run_ended"
  | "missing";

/** A person's decision, bound to what that person saw. */
export interface ApprovalDecision {
  readonly runId: string;
  readonly approvalId: string;
  readonly argsHash: string;
  readonly happening: Happening;
}

export interface RunFilter {
  readonly status?: Status | undefined;
  readonly agent?: string | undefined;
  readonly ticketId?: string | undefined;
  readonly limit: number;
}

/** A run as the store holds it, for reading only. */
export interface StoredRun {
  readonly id: string;
  readonly json: string;
  readonly rev: number;
  readonly step: number;
  readonly inbox: number;
  readonly journal: readonly string[];
  /** When its step was first claimed (ms since epoch); null: not yet. */
  readonly since: number | null;
  /** Ended as failed/unreadable_state without touching its snapshot. */
  readonly parked: boolean;
}

export interface RunStore {
  /** Run record and first job together, or nothing. False: this run id exists already. */
  readonly create: (run: NewRun) => Promise<boolean>;
  /** `again`: the same worker after a lost race, which is no new try. */
  readonly claim: (runId: string, step: number, again?: boolean) => Promise<Claim>;
  /** Gives a claim back alive, so that it counts as no crash; `fault`: the step threw. */
  readonly release: (fence: Fence, why: "handed_back" | "fault") => Promise<Written>;
  /**
   * Appends to the step's journal: a decision is on disk before anything acts on it. A move of the
   * tenant's day is made in the same write, and a request to a model asks there whether its gate
   * lets it pass; where either says no, nothing is written.
   */
  readonly journal: (
    fence: Fence,
    events: readonly Event[],
    move?: AccountMove | null,
    gate?: GateAsked | null,
  ) => Promise<Journaled>;
  /**
   * The journal's write for an intent, with its row in the effect ledger. known: the ledger had the
   * row already, so the effect may have happened. customer_changed: nothing was written.
   */
  readonly intend: (
    fence: Fence,
    events: readonly Event[],
    intent: EffectIntent,
  ) => Promise<Exclude<Written, "inbox_changed"> | "known" | "customer_changed">;
  /** Settles the ledger's row of an effect that the events tell of. */
  readonly save: (fence: Fence, save: Save) => Promise<Written>;
  /** Adds to the inbox and wakes the run. */
  readonly post: (runId: string, happening: Happening) => Promise<Posted>;
  /** Decides an approval, once for ever: of two callers at the same moment one is told so. */
  readonly decide: (decision: ApprovalDecision) => Promise<Decided>;
  readonly read: (runId: string) => Promise<StoredRun | null>;
  /** Journal lines from an index on (0 is the first). */
  readonly events: (runId: string, from?: number) => Promise<readonly string[]>;
  readonly putResult: (runId: string, callId: string, text: string) => Promise<void>;
  readonly result: (runId: string, callId: string) => Promise<string | null>;
  /** Those of several that are there, by id; one round trip. */
  readonly results: (
    runId: string,
    callIds: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>;
  /** Newest first. */
  readonly list: (filter: RunFilter) => Promise<readonly StoredRun[]>;
  /** Ids of unfinished runs last saved before a time (ms), oldest first. */
  readonly idle: (beforeMs: number, limit: number) => Promise<readonly string[]>;
  /**
   * Ids of runs whose running time is over at `now` (ms), each given to one caller; the others see
   * it again after the lease (ms).
   */
  readonly overdue: (now: number, leaseMs: number, limit: number) => Promise<readonly string[]>;
  /** Says when a run's time is over (ms since epoch); null: it has no deadline now. */
  readonly setDeadline: (runId: string, at: number | null) => Promise<void>;
  /** Puts a resting run behind the others: the next sweep begins with those not yet looked at. */
  readonly looked: (runId: string) => Promise<void>;
  /** Ends a run that cannot be read, leaving its snapshot and journal untouched. */
  readonly park: (fence: Fence) => Promise<Written>;
}
