import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { stop, type Stop } from "../../src/core/stop.ts";
import { createStepMetrics } from "../../src/telemetry/metrics.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, callOf, runningState } from "../support/run-fixture.ts";

const { agent } = orderDomain();
const known = { agents: new Set(["orders"]), tools: new Set(agent.tools.keys()) };
const base = { at: AT, step: 1 };
const usage = { input: 900, cached: 400, cacheWrite: 0, output: 60, reasoning: 20 };

function decided(tool: string): Event {
  return {
    ...base,
    type: "decided",
    source: "model",
    model: "m",
    finish: "tool_calls",
    text: null,
    calls: [callOf(tool, { orderId: "A-1" })],
    usage,
    moneyMicroUsd: 3_000,
    contextTokens: 900,
    ms: 40,
  };
}

function ended(found: Stop): Event {
  const outcome = { kind: "stop" as const, known: [], unknown: [], contradicts: [], tried: [] };
  return {
    ...base,
    type: "ended",
    ...found,
    earlierStep: null,
    outcome: { ...outcome, detail: "" },
  };
}

async function told(...steps: readonly (readonly Event[])[]): Promise<string> {
  const metrics = createStepMetrics(known);
  const state = runningState(agent, { spent: { steps: 2, tokens: 0, moneyMicroUsd: 6_000 } });
  for (const events of steps) metrics.step(state, events);
  return (await metrics.expose()).text;
}

describe("step metrics", () => {
  test.each([
    ["max_steps_exceeded"],
    ["time_exceeded"],
    ["tokens_exceeded"],
    ["money_exceeded"],
  ] as const)("a run that ends by %s has a label of its own", async (reason) => {
    const text = await told([ended(stop("budget_exhausted", reason, ""))]);
    const labels = `agent="orders",status="budget_exhausted",reason="${reason}"`;
    expect(text).toContain(`pawl_runs_total{${labels}} 1`);
    expect(text.match(/pawl_runs_total\{/g)).toHaveLength(1);
  });

  test("a decision counts its tokens by kind, its money, its context and its request", async () => {
    const text = await told([decided("get_order")], [decided("get_order")]);
    expect(text).toContain('pawl_tokens_total{model="m",kind="input"} 1800');
    expect(text).toContain('pawl_tokens_total{model="m",kind="cached"} 800');
    expect(text).toContain('pawl_tokens_total{model="m",kind="reasoning"} 40');
    expect(text).toContain('pawl_spend_usd_total{model="m"} 0.006');
    expect(text).toContain('pawl_context_tokens_sum{agent="orders"} 1800');
    expect(text).toContain('pawl_provider_requests_total{model="m",status="replied"} 2');
    expect(text).toContain('pawl_step_duration_seconds_sum{phase="decide"} 0.08');
  });

  test("a failed attempt counts by its fate, and what it reported is spend", async () => {
    const failed = { ...base, type: "attempt_failed" as const, model: "m", message: "", ms: 1 };
    const text = await told([
      { ...failed, fate: "refused", usage: null, moneyMicroUsd: 0 },
      { ...failed, fate: "reported", usage, moneyMicroUsd: 3_000 },
    ]);
    expect(text).toContain('pawl_provider_requests_total{model="m",status="refused"} 1');
    expect(text).toContain('pawl_spend_usd_total{model="m"} 0.003');
  });

  test("a name that a model made up is no label", async () => {
    const text = await told([decided("drop_tables_17")]);
    expect(text).toContain('pawl_steps_total{agent="orders",tool="other",result="none"} 1');
    expect(text).not.toContain("drop_tables_17");
  });

  test("a run's cost and steps go into their histograms once, when it ends", async () => {
    const text = await told(
      [decided("get_order")],
      [ended(stop("stalled", "repeated_call", "again"))],
    );
    expect(text).toContain('pawl_run_cost_usd_sum{agent="orders"} 0.006');
    expect(text).toContain('pawl_run_steps_count{agent="orders"} 1');
    expect(text).toContain("pawl_repeats_stopped_total 1");
  });

  test.each([
    ["succeeded", 1, "done"],
    ["succeeded", 0, "deduplicated"],
    ["unknown", 1, "unknown"],
  ] as const)(
    "a write that %s after %i runs of its handler is %s",
    async (outcome, runs, result) => {
      const event: Event = {
        ...base,
        type: "called",
        callId: "c1",
        tool: "add_note",
        effect: "write",
        key: "k",
        args: {},
        outcome,
        handlerRuns: runs,
        ms: { decide: 0, act: 1, total: 1 },
      };
      expect(await told([event])).toContain(
        `pawl_effects_total{tool="add_note",result="${result}"} 1`,
      );
    },
  );
});
