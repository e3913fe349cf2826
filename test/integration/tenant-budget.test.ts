/** A tenant's budget of the day, shared by all its runs on all workers, held through crashes. */
import { expect, test } from "vitest";
import { NO_USAGE } from "../../src/core/decision.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { dayOf, type DayLimits } from "../../src/store/tenant-account.ts";
import { openCrew, type Crew } from "../support/crew.ts";
import { ANSWER, modelOf } from "../support/model.ts";
import { PRICE } from "../support/price.ts";

const USAGE = { ...NO_USAGE, input: 100, output: 10 };
const COST = 450;
/** The least that a call with 100 input tokens can reserve: 64 output tokens. */
const LEAST = 375 + 960;

const METERED: Partial<Provider> = {
  price: PRICE,
  countInput: () => ({ tokens: 100, isMetered: true }),
};
const answering = () => modelOf(() => ({ ...ANSWER, usage: USAGE }), METERED);

function tenants(limits: Partial<DayLimits>) {
  const most = { tokens: null, moneyMicroUsd: null, ...limits };
  return { dayLimits: (tenant: string) => (tenant === "free" ? null : most) };
}

const acceptMany = (crew: Crew, count: number, tenant: string): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, (_, i) => crew.accept(`T-${i}`, undefined, { tenant })),
  );

const accountOf = (crew: Crew, tenant = "acme") =>
  crew.accounts.read({ tenant, day: dayOf(Date.now()) });

test("forty runs on three workers never spend more than the day has", async () => {
  const day = { moneyMicroUsd: 9_000 };
  const model = answering();
  const crew = await openCrew(model, {}, { tenants: tenants(day) });
  for (let i = 0; i < 3; i += 1) await crew.hire({ concurrency: 10 });
  const runIds = await acceptMany(crew, 40, "acme");
  const states = await Promise.all(runIds.map((runId) => crew.ended(runId)));
  const reasons = states.map((state) => state.reason);
  const answered = reasons.filter((reason) => reason === "answered").length;
  expect(model.requests).toHaveLength(answered);
  expect(reasons.filter((reason) => reason === "money_exceeded")).toHaveLength(40 - answered);
  // All is settled: what was spent is what the provider billed, and too little for one more call.
  const { spent, held } = await accountOf(crew);
  expect(spent).toEqual({ tokens: 110 * answered, moneyMicroUsd: COST * answered });
  expect(held).toEqual({ tokens: 0, moneyMicroUsd: 0 });
  expect(spent.moneyMicroUsd).toBeLessThanOrEqual(day.moneyMicroUsd);
  expect(answered).toBeGreaterThan(0);
  const refused = states.find((state) => state.reason === "money_exceeded");
  expect(JSON.stringify(refused?.outcome)).toContain("tenant acme");
  expect(crew.faults).toEqual([]);
});

test.each([
  [{ moneyMicroUsd: LEAST - 1 }, "money_exceeded"],
  [{ moneyMicroUsd: LEAST }, "answered"],
  [{ moneyMicroUsd: LEAST + 1 }, "answered"],
  [{ moneyMicroUsd: 0 }, "money_exceeded"],
  [{ tokens: 163 }, "tokens_exceeded"],
  [{ tokens: 164 }, "answered"],
  [{ tokens: 165 }, "answered"],
  [{ tokens: 0 }, "tokens_exceeded"],
])("a day of %j ends the first run as %s", async (limits, reason) => {
  const model = answering();
  const crew = await openCrew(model, {}, { tenants: tenants(limits) });
  await crew.hire();
  const runId = await crew.accept("T-1", undefined, { tenant: "acme" });
  expect(await crew.ended(runId)).toMatchObject({ reason });
  expect(model.requests).toHaveLength(reason === "answered" ? 1 : 0);
});

test("the day of one tenant is not another's, and a ticket without a tenant has none", async () => {
  const crew = await openCrew(answering(), {}, { tenants: tenants({ moneyMicroUsd: 0 }) });
  await crew.hire();
  const [over] = await acceptMany(crew, 1, "acme");
  const [free] = await acceptMany(crew, 1, "free");
  expect(await crew.ended(over ?? "")).toMatchObject({ reason: "money_exceeded" });
  expect(await crew.ended(free ?? "")).toMatchObject({ reason: "answered" });
  expect(await crew.ended(await crew.accept("T-9"))).toMatchObject({ reason: "answered" });
  const odd = await crew.accept("T-10", undefined, { tenant: 7 });
  expect(await crew.ended(odd)).toMatchObject({ reason: "answered" });
});

test("a reply that a crash lost stays held of the day", async () => {
  const model = answering();
  const crew = await openCrew(model, {}, { tenants: tenants({ moneyMicroUsd: 100_000 }) });
  let dies = true;
  await crew.hire({
    reach: (point) => {
      if (point !== "after_decide" || !dies) return Promise.resolve();
      dies = false;
      return Promise.reject(new Error("dies"));
    },
  });
  const runId = await crew.accept("T-1", undefined, { tenant: "acme" });
  const { lost, paidButLost } = await crew.ended(runId);
  expect(paidButLost).toBe(1);
  expect(await accountOf(crew)).toEqual({
    spent: { tokens: 110, moneyMicroUsd: COST },
    held: lost,
  });
  expect(model.requests).toHaveLength(2);
});
