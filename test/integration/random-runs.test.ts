/**
 * Random lives of runs on a real Redis: crashes at random points, random mail, jobs that come
 * twice. A failure prints its seed and the smallest plan: what fc.assert needs to play it again.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../src/core/call-key.ts";
import { REASONS } from "../../src/core/stop.ts";
import { openBackbone, storeOn } from "../support/backbone.ts";
import { failureOfAsync } from "../support/failure-of.ts";
import { live, planArbitrary, type Life, type Plan } from "../support/random-runs.ts";

const RUNS = 200;

test.each(["composed", "apart"] as const)(
  "whatever happens to a run, its promises hold (jobs %s)",
  async (enqueuing) => {
    const backbone = await openBackbone();
    const outside = { store: storeOn(backbone, enqueuing), ledger: backbone.ledger };
    const promisesHold = fc.asyncProperty(planArbitrary, async (plan) => {
      const life = await live(plan, outside);
      expectLimits(plan, life);
      expectPaidOnce(plan, life);
      expectEffectsOnce(life);
      expectOneEnd(life);
    });
    expect(await failureOfAsync(promisesHold, RUNS)).toBeUndefined();
  },
);

function expectLimits(plan: Plan, { state }: Life): void {
  expect(state.spent.steps).toBeLessThanOrEqual(plan.limits.steps ?? 0);
  const tokens = plan.counted ? state.limits.tokens : null;
  expect(state.spent.tokens).toBeLessThanOrEqual(tokens ?? Infinity);
}

/** A journaled decision is never asked for again: only a death before its journal costs more. */
function expectPaidOnce(plan: Plan, { decidedBy, lostAt, state, events }: Life): void {
  for (const [step, asked] of decidedBy) {
    expect(asked).toBeLessThanOrEqual(1 + (lostAt.get(step) ?? 0));
  }
  const decided = events.filter((event) => event.type === "decided");
  expect(decided).toHaveLength(state.spent.steps);
  expect(new Set(decided.map((event) => event.step)).size).toBe(decided.length);
  const lost = [...lostAt.values()].reduce((sum, n) => sum + n, 0);
  expect(state.paidButLost).toBeGreaterThanOrEqual(plan.counted ? lost : 0);
}

function expectEffectsOnce({ books, state }: Life): void {
  const effects = [...books.effects.values()];
  const calls = effects.map(({ tool, args }) => `${tool} ${canonicalJson(args)}`);
  expect(new Set(calls).size).toBe(calls.length);
  const writes = state.calls.filter((call) => call.effect === "write");
  expect(new Set(writes.map((call) => call.key)).size).toBe(writes.length);
  // Every effect that happened is known to the run: done, or told as unknown or on its way.
  for (const { tool } of effects) expect(writes.map((call) => call.tool)).toContain(tool);
}

function expectOneEnd({ state, events }: Life): void {
  expect(events.filter((event) => event.type === "ended")).toHaveLength(1);
  expect(events.at(-1)?.type).toBe("ended");
  const reasons: readonly string[] = REASONS[state.status as keyof typeof REASONS];
  expect(reasons).toContain(state.reason);
  expect(state.outward.filter(({ kind }) => kind !== "question").length).toBeLessThanOrEqual(1);
  expect(state).toMatchObject({ turn: null, waiting: null, reserved: null, kept: [] });
  expect(state.outcome).not.toBeNull();
}
