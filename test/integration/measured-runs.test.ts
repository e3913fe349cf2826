/** What an estimate stands on, and how the two kinds of context grow on the same runs. */
import { expect, inject, test } from "vitest";
import { measureRuns } from "../../src/app/measured-runs.ts";
import { agentPacks } from "../../src/app/wire.ts";
import { measureRun, type Counting } from "../../src/core/measure.ts";
import { countContext, loadTokenizer } from "../../src/providers/tokens.ts";
import { openBackbone } from "../support/backbone.ts";
import { openCrew } from "../support/crew.ts";
import { ANSWER, GET_ORDER, reply, scriptOf } from "../support/model.ts";
import { orderDomain } from "../support/order-agent.ts";

const pages = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    reply(["search_kb", { q: `${i} ${"word ".repeat(200)}` }]),
  );

test("the runs that ended here are measured, and their model's usage believed", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]));
  await crew.hire();
  await crew.ended(await crew.accept("T-1"));
  await crew.ended(await crew.accept("T-2"));
  const { agent } = orderDomain();
  const found = await measureRuns(crew, agent, { url: inject("redisUrl"), most: 10 });
  expect(found).toMatchObject({ from: "runs", real: 2 });
  expect(found.runs.map((calls) => calls.map(({ step }) => step))).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test("without any the pack's scenarios are run, and leave nothing behind", async () => {
  const backbone = await openBackbone();
  const pack = agentPacks().get("delivery");
  if (pack === undefined) throw new Error("no delivery agent");
  const found = await measureRuns(backbone, pack, { url: inject("redisUrl"), most: 10 });
  expect(found).toMatchObject({ from: "scenarios", real: 0 });
  expect(found.runs).toHaveLength(4);
  expect(Math.min(...found.runs.flat().map(({ input }) => input))).toBeGreaterThan(300);
  expect(await backbone.redis.keys("{pawl-estimate-*")).toEqual([]);
});

test("a transcript grows by every step, the context from RunState stays as it is", async () => {
  const steps = 75;
  const limits = { steps: steps + 1, stepsWithoutProgress: null };
  const crew = await openCrew(scriptOf([...pages(steps), ANSWER]), { limits });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  const events = await crew.events(runId);
  const text = await loadTokenizer();
  const counting = { text, context: countOf, isUsageReal: false } satisfies Counting;
  function countOf(context: Parameters<typeof countContext>[0]): number {
    return countContext(context, text);
  }
  const { agent } = orderDomain();
  const inputs = (as: "state" | "transcript") =>
    measureRun(events, agent, { ...counting, as })
      .map(({ input }) => input)
      .slice(0, steps);
  const transcript = inputs("transcript");
  const growth = transcript.slice(1).map((n, i) => n - (transcript[i] ?? 0));
  // Every step adds the same: a call and its result.
  expect(Math.max(...growth) - Math.min(...growth)).toBeLessThan(20);
  expect(Math.min(...growth)).toBeGreaterThan(400);
  const state = inputs("state");
  const [early, last] = [state[66] ?? 0, state[74] ?? 0];
  expect(Math.abs(last - early)).toBeLessThan(20);
  expect(transcript[74] ?? 0).toBeGreaterThan(3 * last);
});
