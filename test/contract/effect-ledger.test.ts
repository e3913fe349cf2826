/**
 * The suite of the effect ledger: rows come with the intent, are settled with the save, and stay.
 */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { replay } from "../../src/core/reduce.ts";
import type { Event, EventOf } from "../../src/core/event.ts";
import type { EffectIntent } from "../../src/store/effect-ledger.ts";
import type { Fence } from "../../src/store/run-store.ts";
import { parseRunState } from "../../src/core/run-state.ts";
import { openBackbone, storeOn } from "../support/backbone.ts";
import { orderDomain } from "../support/order-agent.ts";
import { acceptedEvent, AT } from "../support/run-fixture.ts";

async function setup() {
  const backbone = await openBackbone();
  const { ledger } = backbone;
  let fixedOp: string | null = null;
  const store = storeOn(backbone, "composed", () => fixedOp ?? randomUUID());
  const { agent } = orderDomain();

  /** A claimed run of this customer, with the event of its intent. */
  const begin = async (customerId: string | null = "c-1") => {
    const runId = randomUUID();
    const customer = customerId === null ? {} : { customer: { id: customerId } };
    const accepted = { ...acceptedEvent(agent, { id: "T-1", ...customer }), runId };
    const state = replay([accepted]);
    await store.create({ runId, ticketId: "T-1", state, events: [accepted] });
    const claim = await store.claim(runId, 1);
    if (claim.kind !== "claimed") throw new Error(`not claimed: ${claim.kind}`);
    const idempotencyKey = randomUUID();
    const call = { callId: "c1", tool: "add_note", key: "k", args: {}, idempotencyKey };
    const event = { type: "intended" as const, at: AT, step: 1, ...call };
    return { runId, fence: claim.fence, event, customerId, idempotencyKey, json: claim.json };
  };
  const intentOf = (
    { event, customerId }: { event: EventOf<"intended">; customerId: string | null },
    customerEffects: number | null = null,
  ): EffectIntent => ({ event, customerId, ticketId: "T-1", argsHash: "h", customerEffects });
  const intend = (
    run: Awaited<ReturnType<typeof begin>>,
    customerEffects: number | null = null,
    fence: Fence = run.fence,
  ) => store.intend(fence, [run.event], intentOf(run, customerEffects));

  const settle = (
    run: Awaited<ReturnType<typeof begin>>,
    outcome: EventOf<"called">["outcome"],
  ): ReturnType<typeof store.save> => {
    const { type: _type, at, step, ...call } = run.event;
    const called: Event = {
      type: "called",
      at,
      step,
      ...call,
      effect: "write",
      outcome,
      ...(outcome === "succeeded" ? { result: {} } : {}),
      handlerRuns: 1,
      ms: { decide: 0, act: 0, total: 0 },
    };
    const events: Event[] = [
      { type: "started", at, step },
      run.event,
      called,
      { type: "step_ended", at, step, ms: 1 },
    ];
    const before = parseRunState(run.json);
    const state = replay([{ ...acceptedEvent(agent), ticket: before.ticket }, ...events]);
    const change = { state: { ...state, id: run.runId }, events, heard: 0, onlyIfHeardAll: false };
    return store.save(run.fence, { ...change, previousStatus: "queued" });
  };
  const resending = async <T>(write: () => Promise<T>): Promise<[T, T]> => {
    fixedOp = randomUUID();
    const both: [T, T] = [await write(), await write()];
    fixedOp = null;
    return both;
  };
  return { ...backbone, store, ledger, begin, intend, settle, resending };
}

test("an intent is a row of the ledger and a line of the step's journal", async () => {
  const { begin, intend, ledger, store } = await setup();
  const run = await begin();
  expect(await intend(run)).toBe("applied");
  expect(await ledger.row(run.idempotencyKey)).toMatchObject({
    state: "intended",
    runId: run.runId,
    step: 1,
    callId: "c1",
    tool: "add_note",
    customerId: "c-1",
    ticketId: "T-1",
    argsHash: "h",
    settledAt: null,
  });
  expect((await store.read(run.runId))?.journal).toEqual([JSON.stringify(run.event)]);
  expect(await ledger.countOf("c-1")).toBe(1);
});

test.each([
  ["succeeded", "done", 1],
  ["unknown", "unknown", 1],
  ["failed", "failed", 0],
] as const)("a call that %s leaves its row %s", async (outcome, state, count) => {
  const { begin, intend, settle, ledger } = await setup();
  const run = await begin();
  await intend(run);
  expect(await settle(run, outcome)).toBe("applied");
  const row = await ledger.row(run.idempotencyKey);
  expect(row?.state).toBe(state);
  expect(row?.settledAt).toBeGreaterThan(0);
  expect(await ledger.countOf("c-1")).toBe(count);
});

test("a row outlives its run", async () => {
  const { begin, intend, settle, ledger, redis, keys } = await setup();
  const run = await begin();
  await intend(run);
  await settle(run, "succeeded");
  await redis.del(keys.run(run.runId), keys.events(run.runId));
  expect((await ledger.row(run.idempotencyKey))?.state).toBe("done");
  expect(await ledger.ofCustomer("c-1", 10)).toHaveLength(1);
  // For so long that a dispute finds it, and not for ever.
  expect(await redis.pttl(keys.effect(run.idempotencyKey))).toBeGreaterThan(300 * 24 * 3_600_000);
});

test("an intent that rests on an older count of the customer's effects is not written", async () => {
  const { begin, intend, ledger, store } = await setup();
  const [first, second] = [await begin(), await begin()];
  expect(await intend(first, 0)).toBe("applied");
  expect(await intend(second, 0)).toBe("customer_changed");
  expect(await ledger.row(second.idempotencyKey)).toBeNull();
  expect((await store.read(second.runId))?.journal).toEqual([]);
  // Nothing was written, so the fence still holds.
  expect(await intend(second, 1)).toBe("applied");
  expect(await ledger.countOf("c-1")).toBe(2);
});

test("another customer's effects do not count", async () => {
  const { begin, intend, ledger } = await setup();
  await intend(await begin("c-1"), 0);
  expect(await intend(await begin("c-2"), 0)).toBe("applied");
  expect(await ledger.countOf("c-2")).toBe(1);
});

test("an effect for nobody in particular has its row and counts for nobody", async () => {
  const { begin, intend, ledger } = await setup();
  const run = await begin(null);
  expect(await intend(run)).toBe("applied");
  expect(await ledger.row(run.idempotencyKey)).toMatchObject({ customerId: null });
});

test("an effect that the ledger knows is told as known, and its row stays as it was", async () => {
  const { begin, intend, settle, ledger } = await setup();
  const [first, again] = [await begin(), await begin()];
  await intend(first);
  await settle(first, "succeeded");
  const event = { ...again.event, idempotencyKey: first.idempotencyKey };
  expect(await intend({ ...again, event })).toBe("known");
  expect(await ledger.row(first.idempotencyKey)).toMatchObject({
    state: "done",
    runId: first.runId,
  });
  expect(await ledger.countOf("c-1")).toBe(1);
});

test("an intent sent again by the client is written once", async () => {
  const { begin, intend, ledger, store, resending } = await setup();
  const run = await begin();
  const frozen = { ...run.fence };
  expect(await resending(() => intend(run, 0, { ...frozen }))).toEqual(["applied", "applied"]);
  expect((await store.read(run.runId))?.journal).toHaveLength(1);
  expect(await ledger.countOf("c-1")).toBe(1);
});

test("a stale worker's intent changes neither journal nor ledger", async () => {
  const { begin, intend, ledger, store } = await setup();
  const run = await begin();
  const stale = { ...run.fence };
  await store.claim(run.runId, 1);
  expect(await intend(run, null, stale)).toBe("conflict");
  expect(await ledger.row(run.idempotencyKey)).toBeNull();
});
