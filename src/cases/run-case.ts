/**
 * Runs one case: real Redis, real BullMQ, real worker processes. The runner is the outside: it
 * starts the run, lets events happen at named points, kills and replaces workers, and reads what
 * came of it.
 */
import type { AgentPack } from "../agents/agent.ts";
import { PawlError } from "../core/errors.ts";
import { parseEvent } from "../core/event.ts";
import { parseRunState, type RunState } from "../core/run-state.ts";
import { isTerminal } from "../core/stop.ts";
import { acceptTicket } from "../ingest/accept-ticket.ts";
import type { StepQueue } from "../queue/step-queue.ts";
import { sweep } from "../step/sweep.ts";
import type { RunStore } from "../store/run-store.ts";
import type { Case } from "./case.ts";
import type { Seen } from "./case-result.ts";
import { decideApproval } from "../step/decide-approval.ts";
import {
  decisionOf,
  dueEvents,
  happeningOf,
  isReachedAgain,
  leftovers,
  type CrashPointName,
  type DueEvent,
} from "./happenings.ts";
import { modelsOf, scriptedAgent } from "./case-mind.ts";
import { needsEndpoint } from "./case-provider.ts";
import type { ModelEndpoint } from "./model-endpoint.ts";
import { createWorld, type CaseProvider, type WorldBooks } from "./world.ts";

/** A worker process under the runner's hand. */
export interface LabWorker {
  readonly workerId: string;
  /** Lets the worker go on from the point it reported. */
  readonly go: (reached: Reached) => void;
  /** SIGKILL; resolves when the process is gone. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP now, SIGCONT after so many ms. */
  readonly freeze: (ms: number) => Promise<void>;
  /** Leaves the case and waits for the next one. */
  readonly release: () => Promise<void>;
}

export interface Reached {
  readonly n: number;
  readonly point: CrashPointName;
  readonly runId: string;
  readonly step: number;
}

/** One case's own prefix with everything the runner needs there. */
export interface Lab {
  readonly store: RunStore;
  readonly queue: Pick<StepQueue, "takeBack" | "presence" | "remove" | "wake">;
  readonly books: WorldBooks;
  readonly now: () => number;
  readonly newId: () => string;
  readonly startWorker: (listener: LabListener, locks: "short" | "default") => Promise<LabWorker>;
  /** Changes the stored state from outside, as an attacker or a bug would. */
  readonly tamper: (runId: string, pointer: string, value: unknown) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface LabListener {
  readonly reached: (worker: LabWorker, reached: Reached) => void;
  readonly jobDone: () => void;
}

export interface CaseRun {
  readonly runId: string;
  readonly seen: Seen;
  /** Every point that was reached, in order: where a crash can be put. */
  readonly points: readonly { readonly step: number; readonly point: CrashPointName }[];
}

export interface CaseRunOptions {
  readonly packs: ReadonlyMap<string, AgentPack>;
  readonly workers: number;
  /**
   * Compiles the policy text of a case: a text that cannot be read is found before the run is
   * made.
   */
  readonly policyOf: (file: Case, agent: AgentPack) => Promise<unknown>;
  /** How the model is asked. */
  readonly provider: CaseProvider;
  /** Opened by the first case that needs one. */
  readonly endpoint: () => Promise<ModelEndpoint>;
  /** Kills the worker the first time it comes here. */
  readonly crash?: { readonly step: number; readonly point: CrashPointName };
}

/** Longer than any lock or fault in a case lasts; a run that is still for so long is stuck. */
const STUCK_MS = 30_000;

/** Throws PAWL_CASE_* or PAWL_AGENT_* for a case that cannot start or has no answer left. */
export async function runCase(lab: Lab, file: Case, options: CaseRunOptions): Promise<CaseRun> {
  const agent = scriptedAgent(createWorld(file, lab.books), options.packs);
  await options.policyOf(file, agent);
  const runId = lab.newId();
  const answersAgain = options.crash !== undefined;
  const { provider } = options;
  const server = needsEndpoint(file, provider) ? await options.endpoint() : null;
  const endpoint = server === null ? null : { url: server.serve(runId, file, lab.books), provider };
  await lab.books.put(runId, { text: JSON.stringify(file), answersAgain, endpoint });
  const keepId = { ...lab, newId: () => runId };
  const { ticket, limits } = file;
  await acceptTicket(keepId, { agent, ticket, limits, models: modelsOf(file) });
  const bench = new Bench(lab, file, runId, options);
  const sweeper =
    file.sweepEveryMs === undefined
      ? null
      : setInterval(() => void sweep(lab, 0).catch(() => undefined), file.sweepEveryMs);
  try {
    await bench.run();
    const world = await lab.books.totals(runId);
    const [fault] = world.faults;
    if (fault !== undefined) throw new PawlError("PAWL_CASE_NO_ANSWER", fault, { path: fault });
    const { state, parked } = await bench.read();
    const events = (await lab.store.events(runId)).map(parseEvent);
    const seen = { state, events, world, eventErrors: bench.eventErrors, parked };
    return { runId, seen, points: bench.points };
  } finally {
    if (sweeper !== null) clearInterval(sweeper);
    server?.forget(runId);
  }
}

/** The moving parts of one run: workers, fired events, and when it is over. */
class Bench {
  readonly points: { step: number; point: CrashPointName }[] = [];
  readonly eventErrors: string[] = [];
  readonly #lab: Lab;
  readonly #file: Case;
  readonly #runId: string;
  readonly #options: CaseRunOptions;
  readonly #workers = new Set<LabWorker>();
  readonly #fired = new Set<number>();
  readonly #statuses = new Set<string>();
  #hasCrashed = false;
  #done: (error?: unknown) => void = () => undefined;
  #watch: NodeJS.Timeout | undefined;
  #isOver = false;
  /** What stood in the last readable snapshot: a tampered one cannot be read back. */
  #lastState: RunState | null = null;

  constructor(lab: Lab, file: Case, runId: string, options: CaseRunOptions) {
    this.#lab = lab;
    this.#file = file;
    this.#runId = runId;
    this.#options = options;
  }

  async run(): Promise<void> {
    const over = new Promise<void>((resolve, reject) => {
      this.#done = (error) => {
        if (this.#isOver) return;
        this.#isOver = true;
        clearTimeout(this.#watch);
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error("the case failed"));
      };
    });
    this.#touch();
    try {
      const freezes = this.#file.events.some((event) => event.freezeMs !== undefined);
      const count = Math.max(this.#options.workers, freezes ? 2 : 1);
      await Promise.all(Array.from({ length: count }, () => this.#hire()));
      await over;
    } finally {
      clearTimeout(this.#watch);
      this.#isOver = true;
      await Promise.all([...this.#workers].map((worker) => worker.release()));
    }
    for (const due of leftovers(this.#file.events, this.#fired, this.#statuses))
      await this.#fire(due);
  }

  async read(): Promise<{ state: RunState; parked: boolean; inbox: number }> {
    const run = await this.#lab.store.read(this.#runId);
    if (run === null) throw new PawlError("PAWL_RUN_NOT_FOUND", `there is no run ${this.#runId}`);
    try {
      this.#lastState = parseRunState(run.json);
    } catch (error) {
      // Tampered with, and not yet found out by a worker.
      if (this.#lastState === null) throw error;
    }
    return { state: this.#lastState, parked: run.parked, inbox: run.inbox };
  }

  async #hire(): Promise<void> {
    const freezes = this.#file.events.some((event) => event.freezeMs !== undefined);
    const listener: LabListener = {
      reached: (worker, reached) => void this.#reached(worker, reached).catch(this.#done),
      jobDone: () => void this.#settle().catch(this.#done),
    };
    const worker = await this.#lab.startWorker(listener, freezes ? "short" : "default");
    if (this.#isOver) await worker.release();
    else this.#workers.add(worker);
  }

  async #reached(worker: LabWorker, reached: Reached): Promise<void> {
    this.#touch();
    const { step, point } = reached;
    this.points.push({ step, point });
    const status = point === "after_save" ? (await this.read()).state.status : null;
    if (status !== null) this.#statuses.add(status);
    const { crash } = this.#options;
    const isCrash = !this.#hasCrashed && crash?.step === step && crash.point === point;
    // The worker that comes here again hears what happens here, as in the run without a crash.
    if (isCrash && isReachedAgain(point)) {
      this.#hasCrashed = true;
      return this.#replace(worker);
    }
    const due = dueEvents(this.#file.events, this.#fired, { step, point, status });
    for (const entry of due) await this.#fire(entry);
    if (isCrash || due.some(({ event }) => event.kill !== undefined)) {
      this.#hasCrashed ||= isCrash;
      return this.#replace(worker);
    }
    const freezeMs = due.find(({ event }) => event.freezeMs !== undefined)?.event.freezeMs;
    if (freezeMs !== undefined) await worker.freeze(freezeMs);
    worker.go(reached);
  }

  /** A dead process' jobs are taken back at once: its locks would hold them for seconds. */
  async #replace(worker: LabWorker): Promise<void> {
    this.#workers.delete(worker);
    await worker.kill();
    await this.#lab.queue.takeBack(worker.workerId);
    if (this.#isOver) return;
    await this.#hire();
    await this.#settle();
  }

  async #fire(due: DueEvent): Promise<void> {
    this.#fired.add(due.index);
    const { tamper } = due.event;
    if (tamper !== undefined) {
      await this.#lab.tamper(this.#runId, tamper.pointer, tamper.value);
      return;
    }
    const { state } = await this.read();
    const said = decisionOf(due.event);
    if (said !== null) return this.#decide(state, said);
    const happening = happeningOf(this.#file, due, state.ticket);
    if (happening === null) return;
    const posted = await this.#lab.store.post(this.#runId, happening);
    if (posted !== "posted") this.eventErrors.push(posted === "ended" ? "run_ended" : posted);
  }

  async #decide(state: RunState, said: NonNullable<ReturnType<typeof decisionOf>>): Promise<void> {
    const { isPrevious, ...decision } = said;
    const current = state.pending ?? state.approvals.at(-1);
    const previous = state.approvals.at(state.pending === null ? -2 : -1);
    const approvalId = (isPrevious ? previous : current)?.id ?? `${this.#runId}-a1`;
    const { store, newId } = this.#lab;
    const decided = await decideApproval({ store, newId }, { approvalId, ...decision });
    if (decided !== "decided") this.eventErrors.push(decided);
  }

  /** Over when the run ended, or waits and nobody is left who would wake it. */
  async #settle(): Promise<void> {
    this.#touch();
    const { state, parked, inbox } = await this.read();
    if (parked || isTerminal(state.status)) return this.#done();
    if (state.status !== "waiting" || inbox > 0) return;
    const isTimed = state.waiting?.until !== null;
    if (this.#file.fastForward !== true || !isTimed) this.#done();
  }

  /** For whoever must find out why: where the run stands, and whether somebody could go on. */
  async #describe(): Promise<string> {
    const { state } = await this.read();
    const job = await this.#lab.queue.presence(this.#runId, state.step);
    const last = this.points.at(-1);
    const seen = last === undefined ? "no point" : `${last.point} of step ${last.step}`;
    return `the run is stuck: ${state.status} at step ${state.step}, its job is ${job}, last seen ${seen}`;
  }

  #touch(): void {
    clearTimeout(this.#watch);
    if (this.#isOver) return;
    this.#watch = setTimeout(() => {
      void this.#describe()
        .catch(() => "the run is stuck and cannot be read")
        .then((text) => this.#done(new Error(text)));
    }, STUCK_MS);
  }
}
