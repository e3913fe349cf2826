/** The suite of the gates before the models: who may pass, who waits, and for how long. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { replay } from "../../src/core/reduce.ts";
import type { Fence, Journaled } from "../../src/store/run-store.ts";
import { openBackbone } from "../support/backbone.ts";
import { orderDomain } from "../support/order-agent.ts";
import { acceptedEvent, AT } from "../support/run-fixture.ts";
import { until } from "../support/until.ts";

const STARTED = { type: "started" as const, at: AT, step: 1 };
const GATE = "model-a";
/** What those who wait are apart, and how long the first of them has, in ms. */
const GAP_MS = 10;
const LEASE_MS = 1_000;
/** Of a moment that the test and Redis see at different times. */
const SLACK_MS = 40;

async function setup() {
  const backbone = await openBackbone();
  const { store, gates } = backbone;
  const { agent } = orderDomain();
  const fenceOf = async (): Promise<Fence> => {
    const runId = randomUUID();
    const accepted = { ...acceptedEvent(agent), runId };
    const state = replay([accepted]);
    await store.create({ runId, ticketId: "T-1", state, events: [accepted] });
    const claim = await store.claim(runId, 1);
    if (claim.kind !== "claimed") throw new Error(`not claimed: ${claim.kind}`);
    return claim.fence;
  };
  const ask = (fence: Fence, { name = GATE, canWait = false } = {}) =>
    store.journal(fence, [STARTED], null, { name, canWait });
  /** A run of its own asks to pass. */
  const pass = async (name = GATE, canWait = false) => ask(await fenceOf(), { name, canWait });
  const waitOf = async (gate = GATE): Promise<number> => {
    const passed = await pass(gate);
    if (typeof passed !== "object") throw new Error(`not held back: ${passed}`);
    return passed.gatedMs;
  };
  return { ...backbone, fenceOf, ask, pass, waitOf, gates };
}

test("a gate that nobody shut lets everyone pass and leaves no key", async () => {
  const { pass, redis, keys } = await setup();
  expect(await pass()).toBe("applied");
  expect(await redis.exists(keys.gate(GATE))).toBe(0);
});

test("the run that met the limit alone waits exactly as long as it was told", async () => {
  const { gates } = await setup();
  expect(await gates.close(GATE, 2_000)).toBe(2_000);
});

test("a run held back has written nothing, and its fence still holds", async () => {
  const { ask, gates, store, fenceOf } = await setup();
  await gates.close(GATE, 60_000);
  const fence = await fenceOf();
  expect(await ask(fence)).toMatchObject({ gatedMs: expect.any(Number) });
  expect((await store.read(fence.runId))?.journal).toEqual([]);
  expect(await store.journal(fence, [STARTED])).toBe("applied");
});

test("those who wait come one after the other", async () => {
  const { gates, waitOf } = await setup();
  await gates.close(GATE, 60_000);
  const waits = [await waitOf(), await waitOf(), await waitOf()];
  for (const [i, ms] of waits.entries()) {
    const due = 60_000 + (i + 1) * GAP_MS;
    expect(ms).toBeLessThanOrEqual(due);
    expect(ms).toBeGreaterThan(due - 5_000);
  }
  expect(await gates.close(GATE, 1)).toBeGreaterThan(55_000);
});

test("another model's gate is another gate", async () => {
  const { gates, pass } = await setup();
  await gates.close(GATE, 60_000);
  expect(await pass("model-b")).toBe("applied");
});

test("after its time one goes first and the others wait for its answer, no longer than a second", async () => {
  const { gates, pass, waitOf } = await setup();
  await gates.close(GATE, 1);
  await until(async () => (await pass()) === "probe");
  const wait = await waitOf();
  expect(wait).toBeGreaterThan(LEASE_MS - 500);
  expect(wait).toBeLessThanOrEqual(LEASE_MS + GAP_MS + SLACK_MS);
});

test("a run on its last try lets those in line behind it go first", async () => {
  const { gates, ask, fenceOf, pass, redis, keys } = await setup();
  const [fence, last] = [await fenceOf(), await fenceOf()];
  await gates.close(GATE, 100);
  // Held back, it has written nothing: one fence asks for a whole line of runs.
  for (let i = 0; i < 60; i += 1) await ask(fence);
  const shutAt = Number(await redis.hget(keys.gate(GATE), "until"));
  const isOver = async () => {
    const [s = 0, us = 0] = (await redis.time()).map(Number);
    return s * 1_000 + Math.floor(us / 1_000) >= shutAt;
  };
  await until(isOver);
  expect(await ask(last, { canWait: true })).toMatchObject({ gatedMs: expect.any(Number) });
  expect(await pass()).toBe("probe");
});

test("a run on its last try goes when nobody else is in line", async () => {
  const { gates, pass } = await setup();
  await gates.close(GATE, 1);
  let passed: Journaled = { gatedMs: 0 };
  await until(async () => {
    passed = await pass(GATE, true);
    return typeof passed === "string";
  });
  expect(passed).toBe("probe");
});

test("when the first got through everyone passes", async () => {
  const { gates, pass } = await setup();
  await gates.close(GATE, 60_000);
  await gates.open(GATE);
  expect(await pass()).toBe("applied");
});

test("a longer limit lengthens the wait, a shorter one does not shorten it", async () => {
  const { gates } = await setup();
  await gates.close(GATE, 60_000);
  expect(await gates.close(GATE, 120_000)).toBeGreaterThanOrEqual(120_000);
  expect(await gates.close(GATE, 10)).toBeGreaterThan(115_000);
});

test("a gate that nobody asks any more is forgotten", async () => {
  const { gates, redis, keys } = await setup();
  await gates.close(GATE, 2_000);
  const ttl = await redis.pttl(keys.gate(GATE));
  expect(ttl).toBeGreaterThan(55_000);
  expect(ttl).toBeLessThanOrEqual(62_000);
});
