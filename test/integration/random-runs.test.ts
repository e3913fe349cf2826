/**
 * Random lives of runs on a real Redis: crashes at random points, random mail, jobs that come
 * twice. A failure prints its seed and the smallest plan: what fc.assert needs to play it again.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../src/core/call-key.ts";
import { buildContext } from "../../src/core/context.ts";
import { replay } from "../../src/core/reduce.ts";
import { REASONS } from "../../src/core/stop.ts";
import { buildTranscript } from "../../src/core/transcript.ts";
import { whyUnsendable } from "../../src/cases/sendable.ts";
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
      expectBooksAgree(plan, life);
      expectSendable(life);
      expectEffectsOnce(life);
      expectOneEnd(life);
    });
    expect(await failureOfAsync(promisesHold, RUNS)).toBeUndefined();
  },
);

function expectLimits(plan: Plan, { state }: Life): void {
  expect(state.spent.steps).toBeLessThanOrEqual(plan.limits.steps ?? 0);
  const { tokens, moneyMicroUsd } = state.limits;
  expect(state.spent.tokens).toBeLessThanOrEqual(plan.counted ? (tokens ?? Infinity) : Infinity);
  expect(state.spent.moneyMicroUsd).toBeLessThanOrEqual(moneyMicroUsd ?? Infinity);
}

/** A journaled decision is never asked for again: only a reply that was lost costs more. */
function expectPaidOnce(plan: Plan, { decidedBy, lostAt, state, events }: Life): void {
  for (const [step, asked] of plan.twins.length > 0 ? [] : decidedBy) {
    expect(asked).toBeLessThanOrEqual(1 + (lostAt.get(step) ?? 0));
  }
  const decided = events.filter((event) => event.type === "decided");
  expect(decided).toHaveLength(state.spent.steps);
  expect(new Set(decided.map((event) => event.step)).size).toBe(decided.length);
  const lost = [...lostAt.values()].reduce((sum, n) => sum + n, 0);
  expect(state.paidButLost).toBeGreaterThanOrEqual(plan.counted ? lost : 0);
}

/**
 * The provider's own book against the run's: what the journal knows of is settled to the
 * micro-dollar, what it does not know of is within what the lost reservations hold.
 */
function expectBooksAgree(plan: Plan, { billed, state, events }: Life): void {
  if (!plan.counted) return;
  const settled = events.flatMap((event) =>
    event.type === "decided" && event.source === "model"
      ? [{ text: event.text ?? "", usage: event.usage, money: event.moneyMicroUsd }]
      : event.type === "attempt_failed" && event.fate === "reported"
        ? [{ text: event.message, usage: event.usage, money: event.moneyMicroUsd }]
        : [],
  );
  const lost = state.lost ?? { tokens: 0, moneyMicroUsd: 0 };
  const own = { tokens: lost.tokens, moneyMicroUsd: lost.moneyMicroUsd };
  const unknown = new Map(billed.map((entry) => [entry.mark, entry]));
  for (const { text, usage, money } of settled) {
    const entry = billed.find(({ mark }) => text.includes(mark));
    if (entry === undefined) throw new Error(`the provider has no book of ${text}`);
    expect(unknown.delete(entry.mark)).toBe(true);
    own.moneyMicroUsd += money;
    // Without usage it settles at the reservation, which holds whatever the call may cost.
    const settledAt = usage === null ? Math.max(money, entry.moneyMicroUsd) : entry.moneyMicroUsd;
    expect(money).toBe(settledAt);
    const tokens = usage === null ? null : usage.input + usage.output;
    expect([null, entry.tokens]).toContain(tokens);
    own.tokens += tokens ?? 0;
  }
  // Nothing is counted twice: what was settled and what was lost is all that was spent.
  expect(state.spent.moneyMicroUsd).toBe(own.moneyMicroUsd);
  expect(state.spent.tokens).toBeGreaterThanOrEqual(own.tokens);
  expect(plan.isUsageMissing || state.spent.tokens === own.tokens).toBe(true);
  const rest = [...unknown.values()];
  expect(rest.length).toBeLessThanOrEqual(state.paidButLost);
  const sum = (of: "tokens" | "moneyMicroUsd"): number => rest.reduce((all, e) => all + e[of], 0);
  expect(sum("moneyMicroUsd")).toBeLessThanOrEqual(lost.moneyMicroUsd);
  expect(sum("tokens")).toBeLessThanOrEqual(lost.tokens);
}

/** At every decision both contexts could have been sent: each call with its result, clean texts. */
function expectSendable({ agent, events }: Life): void {
  for (const [i, event] of events.entries()) {
    if (event.type !== "decided" || event.source !== "model") continue;
    const before = events.slice(0, i);
    const state = replay(before);
    const whole = { state, agent };
    expect(whyUnsendable(buildTranscript(before, whole, "all"))).toBeNull();
    expect(whyUnsendable(buildContext(state, agent, "all"))).toBeNull();
  }
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
