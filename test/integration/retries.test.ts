/** A model that cannot answer now: the run waits for it without a worker, or takes another one. */
import { expect, test } from "vitest";
import { NO_USAGE, type FaultKind } from "../../src/core/decision.ts";
import { ProviderFault, type Provider } from "../../src/providers/provider.ts";
import { openCrew, type Crew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, modelOf } from "../support/model.ts";
import { PRICE } from "../support/price.ts";

const DELAY_MS = 1_500;
const LONG_MS = 3_600_000;
const USAGE = { ...NO_USAGE, input: 100, output: 10 };
const METERED: Partial<Provider> = {
  price: PRICE,
  countInput: () => ({ tokens: 100, isMetered: true }),
};

/** Fails once with this fault, at the moment that it tells, then answers. */
function limited(retryAfterMs: number | null, kind: FaultKind = "rate_limit") {
  const asked: number[] = [];
  const model = modelOf(({ turn }) => {
    asked.push(Date.now());
    if (turn === 0) throw new ProviderFault("status 429", kind, { retryAfterMs, requestId: "r-1" });
    return { ...ANSWER, usage: USAGE };
  }, METERED);
  return { model, asked };
}

const inStep = async (crew: Crew, runId: string) =>
  (await crew.events(runId)).map(({ type, step }) => `${type} ${step}`);
const isParked = ({ status }: { readonly status: string }) => status === "waiting";

test("a long delay parks the run without a worker, and its own step goes on", async () => {
  const { model, asked } = limited(DELAY_MS);
  const crew = await openCrew(model);
  await crew.hire({ concurrency: 1 });
  const runId = await crew.accept();
  expect(await crew.once(runId, isParked)).toMatchObject({
    waiting: { for: "retry" },
    step: 1,
    spent: { steps: 0, tokens: 0 },
  });
  expect(await crew.queue.presence(runId, 1)).toBe("delayed");
  expect(await crew.queue.holder(runId, 1)).toBeNull();
  expect(await crew.ended(runId)).toMatchObject({
    reason: "answered",
    spent: { steps: 1, tokens: 110 },
    paidButLost: 0,
  });
  expect(asked).toHaveLength(2);
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(DELAY_MS);
  expect(await inStep(crew, runId)).toEqual([
    "accepted 1",
    "started 1",
    "reserved 1",
    "attempt_failed 1",
    "parked 1",
    "retrying 1",
    "reserved 1",
    "decided 1",
    "sent 1",
    "ended 1",
  ]);
  const events = await crew.events(runId);
  expect(events[3]).toMatchObject({
    disposition: "rate_limit",
    retryAfterMs: DELAY_MS,
    requestId: "r-1",
  });
  expect(events[4]).toMatchObject({ until: (events[4]?.at ?? 0) + DELAY_MS });
});

test("a delay of a second is spent in the step", async () => {
  const crew = await openCrew(limited(200).model);
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  expect(await inStep(crew, runId)).not.toContain("parked 1");
});

test("the wait does not count as running time", async () => {
  const crew = await openCrew(limited(DELAY_MS).model, { limits: { timeMs: DELAY_MS - 500 } });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "answered" });
});

test("what the customer writes meanwhile is taken in, and the model is not asked sooner", async () => {
  const { model, asked } = limited(DELAY_MS);
  const crew = await openCrew(model);
  await crew.hire();
  const runId = await crew.accept();
  await crew.once(runId, isParked);
  await crew.post(runId, { kind: "user_reply", id: "e-1", text: "any news?" });
  expect(await crew.once(runId, (state) => state.heard === 1)).toMatchObject({ status: "waiting" });
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered", resumes: 0 });
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(DELAY_MS);
});

test("a cancel ends the wait at once", async () => {
  const { model, asked } = limited(LONG_MS);
  const crew = await openCrew(model, { limits: { retryAfterMaxMs: null } });
  await crew.hire();
  const runId = await crew.accept();
  await crew.once(runId, isParked);
  await crew.post(runId, { kind: "cancel", id: "e-1", why: "no longer needed" });
  expect(await crew.ended(runId)).toMatchObject({ status: "cancelled" });
  expect(asked).toHaveLength(1);
});

test("a message that comes while the run is being parked wakes it", async () => {
  const crew = await openCrew(limited(LONG_MS).model, { limits: { retryAfterMaxMs: null } });
  let isTold = false;
  await crew.hire({
    reach: async (point, { runId }) => {
      if (point !== "after_save" || isTold) return;
      isTold = true;
      await crew.post(runId, { kind: "cancel", id: "e-1", why: "no longer needed" });
    },
  });
  expect(await crew.ended(await crew.accept())).toMatchObject({ status: "cancelled" });
});

test("a worker that dies between parking and putting off the job loses neither", async () => {
  const { model, asked } = limited(DELAY_MS);
  const crew = await openCrew(model);
  let dies = true;
  await crew.hire({
    reach: async (point) => {
      if (point !== "after_save" || !dies) return;
      dies = false;
      throw new Error("dies");
    },
  });
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "answered" });
  expect(asked).toHaveLength(2);
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(DELAY_MS);
});

test("faults count over parked waits and crashes: the limit is the run's, not the worker's", async () => {
  const model = modelOf(() => {
    throw new ProviderFault("status 503", "retry", { retryAfterMs: 1_100 });
  }, METERED);
  const crew = await openCrew(model, { limits: { providerRetries: 1 } });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({
    status: "blocked",
    reason: "provider_unavailable",
    modelFaults: 2,
  });
  expect(model.requests).toHaveLength(2);
});

test("a refusal of what was said goes to a person", async () => {
  const { model } = limited(null, "content");
  const crew = await openCrew(model, {}, { fallback: modelOf(() => ANSWER, METERED) });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({
    status: "handoff",
    reason: "model_refused",
  });
});

test.each(["content", "final"] as const)(
  "what a %s fault leads to stands after a crash: nobody is asked once more",
  async (kind) => {
    const { model, asked } = limited(null, kind);
    const crew = await openCrew(model);
    const gate = createGate();
    const first = await crew.hire({
      concurrency: 1,
      reach: (point) => (point === "before_save" ? gate.wait() : Promise.resolve()),
    });
    const runId = await crew.accept();
    await gate.reached;
    await crew.queue.takeBack(first.id);
    await crew.hire();
    expect(await crew.ended(runId)).toMatchObject({
      reason: kind === "content" ? "model_refused" : "provider_unavailable",
      modelFaults: 1,
    });
    expect(asked).toHaveLength(1);
    gate.open();
  },
);

test("the fallback takes over for the rest of the run, priced and journaled as itself", async () => {
  const price = { ...PRICE, inputMicroUsdPerMTok: 1_000_000 };
  const main = modelOf(() => {
    throw new ProviderFault("status 401 invalid_api_key", "final");
  }, METERED);
  const fallback = modelOf(({ turn }) => ({ ...(turn === 1 ? GET_ORDER : ANSWER), usage: USAGE }), {
    ...METERED,
    model: "second",
    price,
  });
  const crew = await openCrew(main, {}, { fallback });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered", fellBack: true });
  expect(main.requests).toHaveLength(1);
  const events = await crew.events(runId);
  expect(events.filter(({ type }) => type === "fell_back")).toMatchObject([
    { from: "test", to: "second", why: "status 401 invalid_api_key" },
  ]);
  expect(events.filter(({ type }) => type === "reserved")).toMatchObject([
    { model: "test", route: "main", price: PRICE },
    { model: "second", route: "fallback", price },
    { model: "second", route: "fallback", price },
  ]);
  expect(events.filter(({ type }) => type === "decided")).toMatchObject([
    { model: "second" },
    { model: "second" },
  ]);
});

test("a fallback that gives up as well ends the run", async () => {
  const refuses = () => {
    throw new ProviderFault("status 403", "final");
  };
  const crew = await openCrew(
    modelOf(refuses, METERED),
    {},
    { fallback: modelOf(refuses, METERED) },
  );
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "provider_unavailable" });
});

test("one run's limit holds the others of the same gate back, and costs them no retry", async () => {
  const { model, asked } = limited(DELAY_MS);
  const gated = { ...model, gate: "shared" };
  const crew = await openCrew(gated, { limits: { providerRetries: 1 } });
  await crew.hire({ concurrency: 1 });
  const first = await crew.accept("T-1");
  await crew.once(first, isParked);
  const second = await crew.accept("T-2");
  expect(await crew.once(second, isParked)).toMatchObject({ waiting: { for: "retry" } });
  await crew.ended(first);
  expect(await crew.ended(second)).toMatchObject({ reason: "answered" });
  const [at = 0, ...later] = asked;
  for (const next of later) expect(next - at).toBeGreaterThanOrEqual(DELAY_MS);
  expect(await crew.redis.exists(crew.keys.gate("shared"))).toBe(0);
});
