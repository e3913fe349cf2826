/**
 * What a worker's steps say in Prometheus' words: counted from the events of each saved step, after
 * the save and off its path. Every label is from a closed set; runs and tickets are never labels.
 */
import { Counter, Histogram, Registry } from "prom-client";
import type { Event, EventOf } from "../core/event.ts";
import { protocolOf, type ProtocolRow } from "../core/protocol.ts";
import type { RunState } from "../core/run-state.ts";

export interface StepMetrics {
  readonly step: (state: RunState, events: readonly Event[]) => void;
  /** The exposition text and its content type. */
  readonly expose: () => Promise<{ readonly text: string; readonly contentType: string }>;
}

const USD = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const STEPS = [1, 2, 3, 4, 5, 6, 8, 12, 24];
const SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];
const TOKENS = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 128_000];

/** A name that is not one of these is made up, by a model or a case: its label is `other`. */
export interface KnownNames {
  readonly agents: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
}

const OTHER = "other";

export function createStepMetrics(known: KnownNames): StepMetrics {
  const agentOf = (state: RunState): string =>
    known.agents.has(state.agent.name) ? state.agent.name : OTHER;
  const toolOf = (tool: string | null): string =>
    tool === null ? "none" : known.tools.has(tool) ? tool : OTHER;
  const registry = new Registry();
  const counters = countersOf(registry);
  const histograms = histogramsOf(registry);
  return {
    step(state, events) {
      const agent = agentOf(state);
      for (const event of events) countEvent(counters, histograms, { agent, event, toolOf });
      const rows = protocolOf(events).filter((row) => row.source !== null || row.status !== null);
      for (const row of rows) {
        counters.steps.inc({ agent, tool: toolOf(row.tool), result: resultOf(row) });
        for (const [phase, ms] of Object.entries(row.ms)) {
          histograms.duration.observe({ phase }, ms / 1_000);
        }
      }
      const ended = events.find((event) => event.type === "ended");
      if (ended !== undefined) countEnd(counters, histograms, { agent, state, ended });
    },
    async expose() {
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}

function countersOf(registry: Registry) {
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter({ name: `pawl_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  return {
    runs: counter("runs_total", "Ended runs", ["agent", "status", "reason"]),
    steps: counter("steps_total", "Steps that decided", ["agent", "tool", "result"]),
    tokens: counter("tokens_total", "Tokens that models told", ["model", "kind"]),
    spend: counter("spend_usd_total", "What settled calls cost", ["model"]),
    resumes: counter("resumes_total", "Steps begun by one worker, taken by the next", ["cause"]),
    repeats: counter("repeats_stopped_total", "Runs stopped at a repeated call", []),
    effects: counter("effects_total", "Writes by what became of them", ["tool", "result"]),
    permissions: counter("permissions_total", "Answers of the policy", ["answer", "rule"]),
    requests: counter("provider_requests_total", "Requests to models", ["model", "status"]),
  };
}

function histogramsOf(registry: Registry) {
  const histogram = <T extends string>(
    name: string,
    help: string,
    [labelNames, buckets]: readonly [readonly T[], number[]],
  ) =>
    new Histogram({
      name: `pawl_${name}`,
      help,
      labelNames: [...labelNames],
      buckets,
      registers: [registry],
    });
  return {
    duration: histogram("step_duration_seconds", "Time of a step", [["phase"], SECONDS]),
    cost: histogram("run_cost_usd", "What a run cost, lost calls included", [["agent"], USD]),
    runSteps: histogram("run_steps", "Steps of a run", [["agent"], STEPS]),
    context: histogram("context_tokens", "Input of a model call", [["agent"], TOKENS]),
  };
}

type Counters = ReturnType<typeof countersOf>;
type Histograms = ReturnType<typeof histogramsOf>;

function countEvent(
  counters: Counters,
  histograms: Histograms,
  seen: {
    readonly agent: string;
    readonly event: Event;
    readonly toolOf: (tool: string) => string;
  },
): void {
  const { agent, event, toolOf } = seen;
  switch (event.type) {
    case "decided":
      if (event.source !== "model") return;
      countSpend(counters, event.model ?? "unknown", event);
      counters.requests.inc({ model: event.model ?? "unknown", status: "replied" });
      if (event.contextTokens !== null) histograms.context.observe({ agent }, event.contextTokens);
      return;
    case "attempt_failed":
      countSpend(counters, event.model, event);
      counters.requests.inc({ model: event.model, status: event.fate });
      return;
    case "resumed":
      counters.resumes.inc({ cause: "crash" });
      return;
    case "permitted":
      counters.permissions.inc({ answer: event.permission.answer, rule: event.permission.rule });
      return;
    case "called":
      if (event.effect !== "write" || event.outcome === "failed") return;
      counters.effects.inc({ tool: toolOf(event.tool), result: effectResult(event) });
      return;
    default:
      return;
  }
}

/** A write that is known without a call of its handler was made by an earlier worker. */
function effectResult({ outcome, handlerRuns }: EventOf<"called">): string {
  if (outcome === "unknown") return "unknown";
  return handlerRuns === 0 ? "deduplicated" : "done";
}

function countSpend(
  { tokens, spend }: Counters,
  model: string,
  { usage, moneyMicroUsd }: Pick<EventOf<"decided">, "usage" | "moneyMicroUsd">,
): void {
  spend.inc({ model }, moneyMicroUsd / 1_000_000);
  for (const [kind, n] of Object.entries(usage ?? {})) tokens.inc({ model, kind }, n);
}

function countEnd(
  counters: Counters,
  histograms: Histograms,
  seen: {
    readonly agent: string;
    readonly state: RunState;
    readonly ended: EventOf<"ended">;
  },
): void {
  const { agent, state, ended } = seen;
  const { status, reason } = ended;
  counters.runs.inc({ agent, status, reason });
  if (reason === "repeated_call") counters.repeats.inc();
  histograms.cost.observe({ agent }, state.spent.moneyMicroUsd / 1_000_000);
  histograms.runSteps.observe({ agent }, state.spent.steps);
}

function resultOf(row: ProtocolRow): string {
  return row.status ?? row.error ?? row.verdict ?? "none";
}
