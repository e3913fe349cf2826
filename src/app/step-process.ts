/**
 * A step worker as a service: connect, check, work, stop on a signal. Shared by the worker process
 * and `pawl worker`, so that both stop in the same way.
 */
import type { AgentPack } from "../agents/agent.ts";
import { SCRIPTED } from "../cases/case-mind.ts";
import { messageOf, PawlError } from "../core/errors.ts";
import type { StepDeps } from "../step/work.ts";
import { sweep } from "../step/sweep.ts";
import type { StepWorker } from "../queue/step-queue.ts";
import { createStepLog, type Logger } from "../telemetry/log.ts";
import { createStepMetrics } from "../telemetry/metrics.ts";
import { systemClock } from "./clock.ts";
import type { Tenants } from "./config-files.ts";
import { liveResolver, type LiveModel } from "./live-model.ts";
import { knownNames, serveMetrics, type MetricsServer } from "./metrics-server.ts";
import { checkRedisSafety } from "./safe-redis.ts";
import { watchPolicies } from "./watched-policies.ts";
import {
  agentPacks,
  connectBackbone,
  scriptedResolver,
  startWorker,
  type Backbone,
} from "./wire.ts";

export interface StepProcess {
  readonly worker: StepWorker;
  readonly backbone: Backbone;
  readonly stop: () => Promise<void>;
}

export interface StepProcessOptions {
  readonly url: string;
  readonly prefix: string;
  readonly concurrency: number;
  readonly logger: Logger;
  readonly tenants: Tenants | null;
  /** Steps runs that are not scripted; null: this process leaves them to others. */
  readonly live: LiveModel | null;
  /** Of /metrics; absent: none is served. */
  readonly metricsPort?: number | undefined;
}

/** Longer than a tool's default timeout: a graceful stop lets the step in hand end. */
const GRACE_MS = 25_000;

export async function startStepProcess(options: StepProcessOptions): Promise<StepProcess> {
  const backbone = await connectBackbone(options.url, options.prefix, systemClock);
  const packs = watchPolicies(agentPacks(), options.logger);
  const log = createStepLog(options.logger);
  const { metricsPort } = options;
  const metrics = metricsPort === undefined ? null : createStepMetrics(knownNames(packs));
  let server: MetricsServer | null = null;
  try {
    await checkRedisSafety(backbone.redis);
    server = metrics === null ? null : await serveMetrics(metrics, metricsPort ?? 0);
  } catch (error) {
    await backbone.close();
    throw error;
  }
  const worker = startWorker(
    backbone,
    systemClock,
    {
      resolve: resolverOf(backbone, packs, options.live),
      log: {
        step(state, events) {
          log.step(state, events);
          metrics?.step(state, events);
        },
        fault: (job, error) => log.fault(job, error),
      },
      tenants: options.tenants,
    },
    { concurrency: options.concurrency },
  );
  await worker.ready();
  const { concurrency } = options;
  const ready = { worker: worker.id, concurrency, metricsPort: server?.port };
  options.logger.info(ready, "worker ready");
  return {
    worker,
    backbone,
    async stop() {
      await worker.close(GRACE_MS);
      await server?.close();
      await backbone.close();
    },
  };
}

/** A scripted run brings its own model; every other one asks the configured one. */
function resolverOf(
  backbone: Backbone,
  packs: ReadonlyMap<string, AgentPack>,
  live: LiveModel | null,
): StepDeps["resolve"] {
  const scripted = scriptedResolver(backbone, packs);
  const real = live === null ? () => Promise.resolve(null) : liveResolver(packs, live);
  return async (state) => (state.agent.version.endsWith(SCRIPTED) ? scripted(state) : real(state));
}

/**
 * Every so often: rare enough to cost nothing, often enough that no lost run waits for a person.
 */
const SWEEP_EVERY_MS = 15_000;
/** Three lock lifetimes: a step that is worked on is younger. */
const REST_MS = 30_000;

/** Sweeps until stopped; each repair is one log line. */
export function startSweeping(backbone: Backbone, logger: Logger): { readonly stop: () => void } {
  const deps = { store: backbone.store, queue: backbone.queue, now: systemClock.now };
  const once = async (): Promise<void> => {
    try {
      const { repaired } = await sweep(deps, REST_MS);
      for (const repair of repaired) logger.warn(repair, "swept");
    } catch (error) {
      logger.error({ detail: (error as Error).name }, "sweep failed");
    }
  };
  const timer = setInterval(() => void once(), SWEEP_EVERY_MS);
  void once();
  return { stop: () => clearInterval(timer) };
}

/** Runs `stop` once on SIGTERM or SIGINT; a second signal ends the process at once. */
export function stopOnSignal(stop: () => Promise<void>): void {
  let isStopping = false;
  const onSignal = (): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    void stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

/**
 * Ends a process that cannot start with one line that says why, and the exit code of a bad set-up.
 */
export async function startOrExit(logger: Logger, start: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (error) {
    const code = error instanceof PawlError ? error.code : "internal_error";
    logger.fatal({ code, detail: messageOf(error) }, "cannot start");
    process.exit(2);
  }
}
