/**
 * The only place where adapters meet: one Redis connection a process for queue, state and worker.
 */
import { Redis } from "ioredis";
import type { AgentPack } from "../agents/agent.ts";
import { deliveryAgent } from "../agents/delivery/agent.ts";
import { refundAgent } from "../agents/refund/agent.ts";
import { parseCase, type Case } from "../cases/case.ts";
import { createRedisWorldBooks } from "../cases/redis-world-books.ts";
import { SCRIPTED, scriptedAgent, scriptedModels } from "../cases/case-mind.ts";
import { createCaseProvider, type OpenWire } from "../cases/case-provider.ts";
import { openModelEndpoint, type ModelEndpoint } from "../cases/model-endpoint.ts";
import { createPlaces, createWorld, type WorldBooks } from "../cases/world.ts";
import { PawlError } from "../core/errors.ts";
import { createCedarPolicy } from "../policy/cedar-policy.ts";
import type { Policy } from "../policy/policy.ts";
import type { OpenAiOptions } from "../providers/openai-provider.ts";
import type { Provider } from "../providers/provider.ts";
import { createScriptedProvider } from "../providers/scripted-provider.ts";
import type { ScriptedModel } from "../providers/turn-script.ts";
import { createBullmqStepQueue, type BullmqStepQueue } from "../queue/bullmq-step-queue.ts";
import { createBullmqStepWorker } from "../queue/bullmq-step-worker.ts";
import { createRedisInterrupts } from "../queue/redis-interrupts.ts";
import type { LockTimes, StepWorker } from "../queue/step-queue.ts";
import { watchDeadlines } from "../step/deadlines.ts";
import { runStep } from "../step/step.ts";
import type { Mind, StepDeps, TenantBudgets } from "../step/work.ts";
import { redisKeys, type RedisKeys } from "../store/redis-keys.ts";
import type { ModelGates } from "../store/model-gates.ts";
import { createRedisModelGates } from "../store/redis-model-gates.ts";
import { createRedisRunStore } from "../store/redis-run-store.ts";
import { createRedisTenantAccounts } from "../store/redis-tenant-accounts.ts";
import type { EffectLedger } from "../store/effect-ledger.ts";
import { createRedisEffectLedger } from "../store/redis-effect-ledger.ts";
import type { RunStore } from "../store/run-store.ts";
import type { TenantAccounts } from "../store/tenant-account.ts";
import { systemClock, type Clock } from "./clock.ts";

export interface Backbone {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly queue: BullmqStepQueue;
  readonly store: RunStore;
  readonly ledger: EffectLedger;
  readonly accounts: TenantAccounts;
  readonly gates: ModelGates;
  readonly close: () => Promise<void>;
}

/** Connections are retried for ever by workers: a Redis that restarts must not end the fleet. */
export function connectRedis(url: string, options: { readonly once?: boolean } = {}): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy: (n) => (options.once === true ? null : Math.min(1_000, 50 * 2 ** n)),
    reconnectOnError: (error) => (error.message.startsWith("READONLY") ? 1 : false),
    lazyConnect: true,
  });
  // ioredis reports every failed try here; the commands themselves wait or fail.
  redis.on("error", () => undefined);
  return redis;
}

/** Throws PAWL_REDIS_UNREACHABLE when the first connection fails: a start must not hang. */
export async function connectBackbone(
  url: string,
  prefix: string,
  clock: Clock,
): Promise<Backbone> {
  const redis = connectRedis(url);
  try {
    await redis.connect();
  } catch (cause) {
    redis.disconnect();
    throw new PawlError("PAWL_REDIS_UNREACHABLE", "cannot connect to Redis at REDIS_URL", {
      cause,
    });
  }
  const keys = redisKeys(prefix);
  const queue = await createBullmqStepQueue({ redis, prefix, now: clock.now });
  const store = createRedisRunStore({
    redis,
    keys,
    enqueuer: queue.enqueuer,
    newOp: clock.newId,
    now: clock.now,
  });
  return {
    redis,
    keys,
    queue,
    store,
    ledger: createRedisEffectLedger({ redis, keys, now: clock.now }),
    accounts: createRedisTenantAccounts(redis, keys),
    gates: createRedisModelGates(redis, keys),
    async close() {
      await queue.close();
      redis.disconnect();
    },
  };
}

/** The agents of this installation, by name. A new domain is one folder and one line here. */
export function agentPacks(): ReadonlyMap<string, AgentPack> {
  return new Map([deliveryAgent(), refundAgent()].map((pack) => [pack.name, pack]));
}

/**
 * The mind of a run: scripted runs bring their own outside with them, in Redis, so that any worker
 * can go on with them. Kept for the last runs only; a run's case never changes.
 */
export function scriptedResolver(
  backbone: Backbone,
  packs: ReadonlyMap<string, AgentPack>,
): StepDeps["resolve"] {
  const books = worldBooks(backbone);
  const minds = new Map<string, Mind>();
  const places = createPlaces();
  return async (state) => {
    const known = minds.get(state.id);
    if (known !== undefined) return known;
    if (!state.agent.version.endsWith(SCRIPTED)) return null;
    const script = await books.load(state.id);
    if (script === null) return null;
    const file = parseCase(script.text);
    const { main, routine, fallback, source } = scriptedModels(file, books);
    const asked = (model: ScriptedModel): Provider => {
      const scripted = createScriptedProvider(model, source);
      if (script.endpoint === null) return scripted;
      return createCaseProvider(file, { model, scripted }, script.endpoint, openCaseWire);
    };
    const world = createWorld(file, books, script.answersAgain ? places : undefined);
    const agent = scriptedAgent(world, packs);
    const policy = await policyOfCase(file, agent);
    const mind = {
      agent: policy === null ? agent : { ...agent, policy },
      provider: asked(main),
      ...(routine === null ? {} : { routine: asked(routine) }),
      ...(fallback === null ? {} : { fallback: asked(fallback) }),
      fastForward: file.fastForward === true,
    };
    if (minds.size >= MOST_MINDS) minds.delete(minds.keys().next().value ?? "");
    minds.set(state.id, mind);
    return mind;
  };
}

/** The policy that a case brings as text, checked against its tools; null: the agent's own. */
export async function policyOfCase(file: Case, agent: AgentPack): Promise<Policy | null> {
  if (typeof file.agent === "string" || file.agent.policy === undefined) return null;
  if (file.policyAnswers !== undefined) return null;
  const tools = [...agent.tools.values(), ...agent.effects.values()];
  return createCedarPolicy({ text: file.agent.policy, tools });
}

export function worldBooks(backbone: Backbone): WorldBooks {
  return createRedisWorldBooks(backbone.redis, backbone.keys.prefix);
}

/** Scripted runs a process remembers at once. */
const MOST_MINDS = 500;

export interface WorkerOptions {
  readonly concurrency: number;
  readonly locks?: LockTimes;
}

/** A worker on a backbone: the pipeline of step/step.ts behind one BullMQ worker. */
export function startWorker(
  backbone: Backbone,
  clock: Clock,
  step: Pick<StepDeps, "resolve" | "log" | "reach" | "policy"> & {
    readonly jobDone?: () => void;
    readonly tenants?: Pick<TenantBudgets, "dayLimits"> | null;
  },
  options: WorkerOptions,
): StepWorker {
  const interrupts = createRedisInterrupts(backbone.redis.duplicate(), backbone.keys.interrupts);
  const { tenants, jobDone, ...given } = step;
  const deps: StepDeps = {
    ...given,
    ...(tenants ? { tenants: { ...tenants, read: backbone.accounts.read } } : {}),
    store: backbone.store,
    addJob: backbone.queue.add,
    ledger: backbone.ledger,
    interrupts,
    addTimer: backbone.queue.addTimer,
    gates: backbone.gates,
    now: clock.now,
    random: clock.random,
  };
  const worker = createBullmqStepWorker({
    redis: backbone.redis,
    prefix: backbone.keys.prefix,
    concurrency: options.concurrency,
    ...(options.locks === undefined ? {} : { locks: options.locks }),
    now: clock.now,
    random: clock.random,
    process: async (job, signal) => {
      try {
        return await runStep(deps, job, signal);
      } catch (error) {
        // An aborted step is handed back, by a stop of this worker or after a lost lock: no fault.
        if (!signal.aborted) step.log.fault(job, error);
        throw error;
      } finally {
        jobDone?.();
      }
    },
    onDelayed: async ({ runId, step: n }) => {
      // A message that came before the delay found its job active, and woke nobody.
      if (((await backbone.store.read(runId))?.inbox ?? 0) > 0) await backbone.queue.wake(runId, n);
    },
    onError: (error) => step.log.fault({ runId: "-", step: 0 }, error),
  });
  const closing = new AbortController();
  const deadlines = watchDeadlines({
    store: backbone.store,
    async step(job) {
      await runStep(deps, job, closing.signal);
    },
    now: clock.now,
    onError: (job, error) => step.log.fault(job, error),
  });
  return {
    id: worker.id,
    async ready() {
      await Promise.all([worker.ready(), interrupts.ready()]);
    },
    async close(graceMs) {
      await worker.close(graceMs);
      closing.abort(new Error("the worker stops"));
      await deadlines.close();
      interrupts.close();
    },
  };
}

/** The adapter of real models, loaded by those who have one: its client is slow to start. */
export async function openAiProvider(options: OpenAiOptions): Promise<Provider> {
  const { createOpenAiProvider } = await import("../providers/openai-provider.ts");
  return createOpenAiProvider(options);
}

/** Told the tools as OpenAI is, so that cases see every field that it is sent. */
const openCaseWire: OpenWire = ({ api, baseUrl, model: { name: model, price } }) =>
  openAiProvider({
    api,
    apiKey: "case",
    baseUrl,
    dialect: "openai",
    model,
    price,
    serviceTier: "default",
    now: systemClock.now,
  });

/** The model of cases as a server, checked as OpenAI checks. */
export async function openCaseEndpoint(): Promise<ModelEndpoint> {
  const [{ createRequestCheck }, { scriptedBody }] = await Promise.all([
    import("../providers/openai-request-check.ts"),
    import("../providers/openai-scripted-reply.ts"),
  ]);
  return openModelEndpoint({ ...(await createRequestCheck()), render: scriptedBody });
}
