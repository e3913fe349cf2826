/** What is lost or broken in Redis: a run gets over it, or stands untouched for a person. */
import { describe, expect, test } from "vitest";
import { openCrew } from "../support/crew.ts";
import { ANSWER, ASK, GET_ORDER, scriptOf } from "../support/model.ts";
import { until } from "../support/until.ts";

async function setup(replies = [GET_ORDER, ANSWER]) {
  const model = scriptOf(replies);
  return { model, ...(await openCrew(model)) };
}

describe("a lost job", () => {
  test("is added again by the job before it, which finds its own step done", async () => {
    const crew = await setup();
    let deaths = 0;
    const runId = await crew.accept();
    await crew.hire({
      concurrency: 1,
      async reach(point, job) {
        if (point !== "after_save" || job.step !== 1 || deaths > 0) return;
        deaths += 1;
        // As after a rollback of the AOF: the step is saved, its successor's job is gone.
        await crew.queue.remove(runId, 2);
        throw new Error("died after the save");
      },
    });
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered", spent: { steps: 2 } });
    expect(crew.model.requests).toHaveLength(2);
  });

  test("is found by the sweeper, which repairs it once", async () => {
    const crew = await setup();
    const runId = await crew.accept();
    await crew.queue.remove(runId, 1);
    const repaired = [{ runId, step: 1, kind: "run_without_job" }];
    expect(await crew.sweepAll()).toEqual({ looked: 1, repaired });
    expect(await crew.sweepAll()).toEqual({ looked: 1, repaired: [] });
    await crew.hire();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
    expect(await crew.sweepAll()).toEqual({ looked: 0, repaired: [] });
  });

  test("that left its hash behind is an orphan and repaired too", async () => {
    const crew = await setup();
    const runId = await crew.accept();
    await crew.redis.del(crew.queueKey("wait"));
    const repaired = [{ runId, step: 1, kind: "orphan_job" }];
    expect(await crew.sweepAll()).toEqual({ looked: 1, repaired });
    await crew.hire();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  });

  test("of a waiting run with unheard mail is found, of one without is none", async () => {
    const crew = await setup([ASK, ANSWER]);
    const worker = await crew.hire();
    const runId = await crew.accept();
    await crew.once(runId, (state) => state.status === "waiting");
    expect(await crew.sweepAll()).toEqual({ looked: 1, repaired: [] });
    await worker.close(1_000);
    await crew.post(runId, { kind: "user_reply", id: "h1", text: "A-1" });
    await crew.queue.remove(runId, 2);
    expect(await crew.sweepAll()).toMatchObject({ repaired: [{ kind: "unheard_inbox" }] });
    await crew.hire();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  });
});

describe("what cannot be read", () => {
  test.each([
    ["a snapshot that is no JSON", { json: "{broken" }],
    ["a snapshot of another version", { json: '{"v":99}' }],
    ["a snapshot with a wrong value", { json: '{"v":1,"id":7}' }],
    ["a line of the step's journal", { journal: '{"type":"invented"}\n' }],
    ["half a line of the step's journal", { journal: '{"type":"star' }],
  ])("%s parks the run untouched, once", async (_name, broken) => {
    const crew = await setup();
    const runId = await crew.accept();
    await crew.redis.hset(crew.keys.run(runId), broken);
    const events = await crew.store.events(runId);
    await crew.hire();
    await until(async () => (await crew.store.read(runId))?.parked === true);
    await until(async () => (await crew.queue.presence(runId, 1)) === "absent");
    const [kept] = Object.entries(broken);
    expect(await crew.redis.hget(crew.keys.run(runId), kept?.[0] ?? "")).toBe(kept?.[1]);
    expect(await crew.store.events(runId)).toEqual(events);
    expect(await crew.store.list({ status: "failed", limit: 9 })).toMatchObject([{ id: runId }]);
    // Told once, tried once: nothing comes back for it, neither the queue nor the sweeper.
    expect(crew.faults).toMatchObject([{ error: { disposition: "park" } }]);
    expect(await crew.sweepAll()).toEqual({ looked: 0, repaired: [] });
    expect(crew.model.requests).toEqual([]);
  });

  test("another run on the same worker is not touched by it", async () => {
    const crew = await setup();
    const [broken, sound] = [await crew.accept("T-1"), await crew.accept("T-2")];
    await crew.redis.hset(crew.keys.run(broken), { json: "{" });
    await crew.hire();
    expect(await crew.ended(sound)).toMatchObject({ reason: "answered" });
  });

  test("a happening that cannot be read is passed over and does not come again", async () => {
    const crew = await setup([ASK, ANSWER]);
    await crew.hire();
    const runId = await crew.accept();
    await crew.once(runId, (state) => state.status === "waiting");
    await until(async () => (await crew.queue.presence(runId, 1)) === "absent");
    await crew.redis.rpush(crew.keys.inbox(runId), '{"kind":"dance"}', "{");
    expect(await crew.sweepAll()).toMatchObject({ repaired: [{ kind: "unheard_inbox" }] });
    await until(async () => (await crew.redis.llen(crew.keys.inbox(runId))) === 0);
    expect(await crew.state(runId)).toMatchObject({ status: "waiting" });
    await crew.post(runId, { kind: "user_reply", id: "h1", text: "A-1" });
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
  });
});

test("a run whose agent no worker has is left for one that has it", async () => {
  const crew = await setup();
  const runId = await crew.accept();
  let isKnown = false;
  const resolve = crew.mind.resolve;
  Object.assign(crew.mind, {
    resolve: (...args: Parameters<typeof resolve>) =>
      isKnown ? resolve(...args) : Promise.resolve(null),
  });
  await crew.hire();
  await until(() => crew.faults.length > 0);
  expect(crew.faults[0]).toMatchObject({ error: { code: "PAWL_AGENT_UNKNOWN" } });
  isKnown = true;
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
});
