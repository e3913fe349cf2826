/** What each attempt at a model call costs, by what became of it, and which model is asked. */
import { expect, test } from "vitest";
import { NO_USAGE, type FaultKind } from "../../src/core/decision.ts";
import type { Event } from "../../src/core/event.ts";
import { ProviderFault, type Fate, type Provider } from "../../src/providers/provider.ts";
import { whyUnsendable } from "../../src/cases/sendable.ts";
import { openCrew } from "../support/crew.ts";
import { ANSWER, GET_ORDER, modelOf, reply, scriptOf, textOf } from "../support/model.ts";
import { PRICE } from "../support/price.ts";

const USAGE = { ...NO_USAGE, input: 100, output: 10 };
/** 100 input tokens at 3 and 10 output tokens at 15 micro-USD. */
const COST = 450;
/** 100 input tokens at 3.75 and 1000 output tokens at 15 micro-USD. */
const RESERVED = 15_375;

const METERED: Partial<Provider> = {
  price: PRICE,
  countInput: () => ({ tokens: 100, isMetered: true }),
};

/** Fails as told, one request after the other, then answers. */
function failing(fates: readonly Fate[], kind: FaultKind = "retry") {
  const left = [...fates];
  return modelOf(() => {
    const fate = left.shift();
    if (fate !== undefined)
      throw new ProviderFault("the server failed", kind, { fate, retryAfterMs: 1 });
    return { ...ANSWER, usage: USAGE };
  }, METERED);
}

const failuresOf = (events: readonly Event[]) =>
  events.filter((event) => event.type === "attempt_failed");

test("a refused attempt costs nothing, and its reservation is free for the next", async () => {
  const model = failing([{ fate: "refused" }, { fate: "refused" }]);
  const crew = await openCrew(model, { limits: { moneyMicroUsd: RESERVED } });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    reason: "answered",
    spent: { tokens: 110, moneyMicroUsd: COST, steps: 1 },
    paidButLost: 0,
  });
  const failures = failuresOf(await crew.events(runId));
  expect(failures).toMatchObject([{ fate: "refused", usage: null, moneyMicroUsd: 0 }, {}]);
  expect(model.requests).toHaveLength(3);
});

test("what a failed attempt reports is spent, once", async () => {
  const crew = await openCrew(failing([{ fate: "reported", usage: USAGE }]));
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    spent: { tokens: 220, moneyMicroUsd: 2 * COST },
    paidButLost: 0,
  });
  expect(failuresOf(await crew.events(runId))).toMatchObject([{ usage: USAGE }]);
});

test("an attempt whose fate nobody knows stays spent as it was reserved", async () => {
  const crew = await openCrew(failing([{ fate: "unknown" }]));
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({
    spent: { tokens: 1_100 + 110, moneyMicroUsd: RESERVED + COST },
    paidButLost: 1,
    lost: { tokens: 1_100, moneyMicroUsd: RESERVED },
  });
});

test("an attempt that no longer fits is not made", async () => {
  const model = failing([{ fate: "unknown" }]);
  const crew = await openCrew(model, { limits: { moneyMicroUsd: RESERVED + 375 + 959 } });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({
    status: "budget_exhausted",
    reason: "money_exceeded",
    paidButLost: 1,
  });
  expect(model.requests).toHaveLength(1);
});

test("after a final fault nobody is asked again", async () => {
  const model = failing([{ fate: "refused" }], "final");
  const crew = await openCrew(model);
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({
    status: "blocked",
    reason: "provider_unavailable",
    spent: { moneyMicroUsd: 0, steps: 0 },
  });
  expect(model.requests).toHaveLength(1);
});

test("a worker that dies after a failed attempt loses nothing of what that cost", async () => {
  const crew = await openCrew(failing([{ fate: "reported", usage: USAGE }]));
  let dies = true;
  await crew.hire({
    reach: async (point, { runId, step }) => {
      const failures = failuresOf((await crew.store.read(runId))?.journal.map(eventOf) ?? []);
      if (point !== "after_reserve" || failures.length === 0 || !dies || step !== 1) return;
      dies = false;
      throw new Error("dies");
    },
  });
  expect(await crew.ended(await crew.accept())).toMatchObject({
    spent: { moneyMicroUsd: 2 * COST + RESERVED },
    paidButLost: 1,
  });
});

const eventOf = (line: string): Event => JSON.parse(line) as Event;

test("a routine step asks the cheaper model, and the choice and its price are journaled", async () => {
  const main = scriptOf([{ ...GET_ORDER, usage: USAGE }], METERED);
  const price = { ...PRICE, inputMicroUsdPerMTok: 1_000_000 };
  const cheap = scriptOf([GET_ORDER, { ...ANSWER, usage: USAGE }], {
    ...METERED,
    model: "cheap",
    price,
  });
  const isRoutine = ({ facts }: { readonly facts: readonly unknown[] }) => facts.length > 0;
  const crew = await openCrew(main, { isRoutine }, { routine: cheap });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    reason: "answered",
    spent: { moneyMicroUsd: COST + 250 },
  });
  const events = await crew.events(runId);
  expect(events.filter((event) => event.type === "reserved")).toMatchObject([
    { model: "test", route: "main", price: PRICE },
    { model: "cheap", route: "routine", price },
  ]);
  expect(events.filter((event) => event.type === "decided")).toMatchObject([
    { model: "test" },
    { model: "cheap" },
  ]);
});

test("a rule that throws chooses the main model", async () => {
  const isRoutine = (): boolean => {
    throw new Error("a bug");
  };
  const cheap = modelOf(() => {
    throw new Error("not asked");
  });
  const crew = await openCrew(scriptOf([ANSWER]), { isRoutine }, { routine: cheap });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "answered" });
});

test("a transcript shows every call with its result, and can be sent", async () => {
  const search = (q: string) => reply(["search_kb", { q }]);
  const model = scriptOf([
    GET_ORDER,
    reply(["search_kb", { q: "first" }], ["search_kb", { q: "second" }]),
    reply(["no such tool!", {}]),
    search("third"),
    ANSWER,
  ]);
  const crew = await openCrew(model, { context: "transcript", limits: { steps: 9 } });
  await crew.hire();
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "answered" });
  expect(model.requests.map((request) => whyUnsendable(request))).toEqual(Array(5).fill(null));
  const last = model.requests.at(-1);
  const roles = last?.messages.map(({ role }) => role).join(" ");
  const turn = "assistant tool";
  expect(roles).toBe(`user ${turn} assistant tool tool ${turn} ${turn} user`);
  expect(textOf(last)).toContain('"hits":["second"]');
  expect(textOf(last)).toContain("facts: order.status, order.paid, order.totalCents");
  expect(textOf(last)).toContain("unknown_tool");
});
