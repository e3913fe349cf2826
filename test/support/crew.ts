/**
 * Real workers in this process on a backbone of their own: what a deployment has, with the outside
 * (orders, model) in the test's hands.
 */
import { onTestFinished } from "vitest";
import type { AgentDefinition } from "../../src/agents/agent.ts";
import { systemClock } from "../../src/app/clock.ts";
import { startWorker } from "../../src/app/wire.ts";
import { parseEvent, type Event, type Happening } from "../../src/core/event.ts";
import { parseRunState, type RunState } from "../../src/core/run-state.ts";
import { isTerminal } from "../../src/core/stop.ts";
import { acceptTicket, parseTicket } from "../../src/ingest/accept-ticket.ts";
import type { Provider } from "../../src/providers/provider.ts";
import type { LockTimes, StepJob, StepWorker } from "../../src/queue/step-queue.ts";
import { sweep, type SweepReport } from "../../src/step/sweep.ts";
import type { Ticket } from "../../src/core/ticket.ts";
import type { CrashPoint, StepDeps, TenantBudgets } from "../../src/step/work.ts";
import { openBackbone, type TestBackbone } from "./backbone.ts";
import { orderDomain, type Books } from "./order-agent.ts";
import { until } from "./until.ts";

export interface Fault {
  readonly job: StepJob;
  readonly error: unknown;
}

export interface Crew extends TestBackbone {
  readonly books: Books;
  readonly faults: Fault[];
  readonly mind: Pick<StepDeps, "resolve" | "log">;
  /** Starts one more worker; `reach` is where the test holds or kills it. */
  readonly hire: (options?: {
    readonly reach?: (point: CrashPoint, job: StepJob) => Promise<void>;
    readonly concurrency?: number;
    readonly locks?: LockTimes;
  }) => Promise<StepWorker>;
  readonly accept: (
    ticketId?: string,
    customerId?: string,
    attributes?: Ticket["attributes"],
  ) => Promise<string>;
  readonly post: (runId: string, happening: Happening) => Promise<void>;
  readonly state: (runId: string) => Promise<RunState>;
  readonly events: (runId: string) => Promise<Event[]>;
  /** Resolves with the state once the run is so. */
  readonly once: (runId: string, is: (state: RunState) => boolean) => Promise<RunState>;
  readonly ended: (runId: string) => Promise<RunState>;
  /** Looks at every unfinished run, however short it rests. */
  readonly sweepAll: () => Promise<SweepReport>;
}

const GRACE_MS = 2_000;
/** Below zero, so that a run saved in this very millisecond rests long enough. */
const NO_REST_MS = -1_000;

export async function openCrew(
  provider: Provider,
  changes: Partial<AgentDefinition> = {},
  more: {
    readonly routine?: Provider;
    readonly fallback?: Provider;
    readonly tenants?: Pick<TenantBudgets, "dayLimits">;
  } = {},
): Promise<Crew> {
  const backbone = await openBackbone();
  const { store, queue } = backbone;
  const { agent, books } = orderDomain(changes);
  const faults: Fault[] = [];
  const mind: Crew["mind"] = {
    resolve: () =>
      Promise.resolve({
        agent,
        provider,
        ...(more.routine === undefined ? {} : { routine: more.routine }),
        ...(more.fallback === undefined ? {} : { fallback: more.fallback }),
      }),
    log: { step: () => undefined, fault: (job, error) => void faults.push({ job, error }) },
  };
  const read = async (runId: string): Promise<RunState> => {
    const run = await store.read(runId);
    if (run === null) throw new Error(`no run ${runId}`);
    return parseRunState(run.json);
  };
  const once: Crew["once"] = async (runId, is) => {
    await until(async () => is(await read(runId)));
    return read(runId);
  };
  return {
    ...backbone,
    books,
    faults,
    mind,
    async hire({ concurrency = 4, locks, reach } = {}) {
      const step = {
        ...mind,
        ...(more.tenants === undefined ? {} : { tenants: more.tenants }),
        ...(reach === undefined ? {} : { reach }),
      };
      const options = { concurrency, ...(locks === undefined ? {} : { locks }) };
      const worker = startWorker(backbone, systemClock, step, options);
      onTestFinished(() => worker.close(GRACE_MS));
      await worker.ready();
      return worker;
    },
    accept(ticketId = "T-1", customerId, attributes = {}) {
      const customer = customerId === undefined ? {} : { customer: { id: customerId } };
      const ticket = parseTicket({ id: ticketId, ...customer, attributes });
      return acceptTicket({ store, now: Date.now, newId: systemClock.newId }, { agent, ticket });
    },
    async post(runId, happening) {
      const posted = await store.post(runId, happening);
      if (posted !== "posted") throw new Error(`not posted: ${posted}`);
    },
    state: read,
    async events(runId) {
      return (await store.events(runId)).map(parseEvent);
    },
    once,
    ended: (runId) => once(runId, (state) => isTerminal(state.status)),
    sweepAll: () => sweep({ store, queue, now: Date.now }, NO_REST_MS),
  };
}
