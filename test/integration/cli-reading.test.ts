/** The reading commands as child processes, over runs that real workers made. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/app/clock.ts";
import { childEnv } from "../../src/app/config.ts";
import { readScenario, startScenario } from "../../src/app/scenarios.ts";
import { agentPacks, scriptedResolver, startWorker } from "../../src/app/wire.ts";
import { isTerminal } from "../../src/core/stop.ts";
import { decideApproval } from "../../src/step/decide-approval.ts";
import { parseRunState } from "../../src/core/run-state.ts";
import { openBackbone, type TestBackbone } from "../support/backbone.ts";
import { openCrew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, ASK, GET_ORDER, reply, scriptOf } from "../support/model.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));
const DELIVERY = ["normal-delivery", "contradicting-data"] as const;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Pawl = (...args: readonly string[]) => Promise<Ran>;

/** `pawl …` on this backbone's Redis and prefix. */
function pawlOn({ keys }: TestBackbone, url = inject("redisUrl")): Pawl {
  const env = childEnv({ REDIS_URL: url, PAWL_PREFIX: keys.prefix });
  return (...args) =>
    new Promise((resolve) => {
      execFile(process.execPath, [MAIN, ...args], { env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
}

function linesOf({ stdout }: Ran): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The one document of a command that succeeded. */
async function json(ran: Promise<Ran>): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await ran;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Two delivery runs, the answered one and the one handed over, worked on to their ends. */
async function delivered() {
  const backbone = await openBackbone();
  const packs = agentPacks();
  const log = { step: () => undefined, fault: () => undefined };
  const step = { resolve: scriptedResolver(backbone, packs), log };
  const worker = startWorker(backbone, systemClock, step, { concurrency: 2 });
  onTestFinished(() => worker.close(2_000));
  await worker.ready();
  const runIds: string[] = [];
  for (const name of DELIVERY) {
    const runId = await startScenario(backbone, readScenario("delivery", name), packs);
    runIds.push(runId);
    await until(async () => {
      const run = await backbone.store.read(runId);
      return run !== null && isTerminal(parseRunState(run.json).status);
    });
  }
  const [answered = "", handedOver = ""] = runIds;
  return { backbone, pawl: pawlOn(backbone), answered, handedOver };
}

/** Replaces the one journal line of this kind that holds the text. */
async function rewriteEvent(
  { redis, keys }: TestBackbone,
  runId: string,
  [from, to]: readonly [string, string],
): Promise<void> {
  const lines = await redis.lrange(keys.events(runId), 0, -1);
  const at = lines.findIndex((line) => line.includes(`"type":"called"`) && line.includes(from));
  const line = lines[at];
  if (line === undefined) throw new Error(`no journal line holds ${from}`);
  await redis.lset(keys.events(runId), at, line.replace(from, to));
}

async function rewriteSnapshot(
  { redis, keys }: TestBackbone,
  runId: string,
  change: (json: string) => string,
): Promise<void> {
  const saved = (await redis.hget(keys.run(runId), "json")) ?? "";
  await redis.hset(keys.run(runId), "json", change(saved));
}

test("list tells each run in one line, newest first, and filters", async () => {
  const { pawl, answered, handedOver } = await delivered();
  const all = await pawl("list", "--json");
  expect(all).toMatchObject({ code: 0, stderr: "" });
  expect(linesOf(all)).toMatchObject([
    { id: handedOver, ticketId: "T-1842", status: "handoff", reason: "contradiction", steps: 3 },
    {
      id: answered,
      agent: { name: "delivery" },
      ticketId: "T-1840",
      status: "completed",
      reason: "answered",
      steps: 4,
      moneyMicroUsd: 15_450,
      createdAt: expect.any(Number),
      endedAt: expect.any(Number),
    },
  ]);
  const ids = async (...flags: string[]) =>
    linesOf(await pawl("list", "--json", ...flags)).map(({ id }) => id);
  const filtered = [
    ids("--status", "completed", "--agent", "delivery"),
    ids("--ticket", "T-1842"),
    ids("--limit", "1"),
  ];
  expect(await Promise.all(filtered)).toEqual([[answered], [handedOver], [handedOver]]);
  const nobody = ["list", "--agent", "nobody"];
  const [asJson, asText, text] = await Promise.all([
    pawl(...nobody, "--json"),
    pawl(...nobody),
    pawl("list"),
  ]);
  expect(asJson).toMatchObject({ code: 0, stdout: "" });
  expect(asText).toMatchObject({ code: 0, stdout: "no runs\n" });
  expect(text.stdout).toMatch(new RegExp(`${answered} +delivery +T-1840 +4 .*completed/answered`));
});

test("show gives the contract's document, with the journal when asked", async () => {
  const { pawl, answered, handedOver } = await delivered();
  expect(await json(pawl("show", answered, "--json"))).toMatchObject({
    id: answered,
    agent: { name: "delivery", version: "1.0.0+scripted" },
    ticketId: "T-1840",
    status: "completed",
    reason: "answered",
    step: 4,
    steps: [
      {
        step: 1,
        tool: "get_order",
        args: { orderId: "A-1840" },
        verdict: "confirmed",
        permission: { answer: "allow", rule: "declared_tool" },
        tokens: { input: 900, cached: 0, output: 60 },
        moneyMicroUsd: 3_600,
      },
      { tool: "get_payment" },
      { tool: "get_delivery" },
      { tool: "answer_user", status: "completed" },
    ],
    budget: { spent: { steps: 4, tokens: 4_150, moneyMicroUsd: 15_450 }, reserved: null },
    openQuestions: [],
    contradictions: [],
    approvals: [],
    outcome: { kind: "answer" },
    resumes: 0,
    paidButLost: 0,
  });
  const journal = await json(pawl("show", handedOver, "--events", "--json"));
  expect(journal).toMatchObject({ inHand: [], outcome: { kind: "handoff" } });
  const types = (journal["events"] as { readonly type: string }[]).map(({ type }) => type);
  expect([types[0], types.at(-1)]).toEqual(["accepted", "ended"]);
  const { stdout } = await pawl("show", handedOver, "--events");
  expect(stdout).toContain("step 3  get_delivery  handoff/contradiction");
  expect(stdout).toContain("delivered_but_not_by_carrier");
  expect(stdout).toMatch(/ +0 .*accepted/);
});

test("replay and trace hold over a run that nobody touched", async () => {
  const { pawl, answered, handedOver } = await delivered();
  const replays = [answered, handedOver].map((runId) => json(pawl("replay", runId, "--json")));
  expect(await Promise.all(replays)).toMatchObject([{ equal: true }, { equal: true }]);
  const trace = await json(pawl("trace", answered, "--json"));
  expect(trace).toMatchObject({ ok: true, outcome: "answer", broken: null });
  const claims = trace["claims"] as { readonly broken: unknown; readonly recorded: object }[];
  expect(claims).toHaveLength(8);
  expect(claims.every(({ broken }) => broken === null)).toBe(true);
  expect(await json(pawl("trace", handedOver, "--json"))).toMatchObject({ outcome: "handoff" });
  expect((await pawl("trace", handedOver)).stdout).toContain("11 of 11 facts traced");
});

test("one byte of a recorded result makes the trace fail and say which link", async () => {
  const { backbone, pawl, answered } = await delivered();
  await rewriteEvent(backbone, answered, [`"amountCents":4990`, `"amountCents":4991`]);
  const ran = await pawl("trace", answered, "--json");
  expect(ran).toMatchObject({ code: 1, stderr: "" });
  const claims = linesOf(ran)[0]?.["claims"] as { key: string; broken: { link: string } | null }[];
  const broken = claims.filter((claim) => claim.broken !== null);
  // Every claim that rests on the same call, and no other.
  expect(broken.map(({ key }) => key)).toEqual([
    "payment.id",
    "payment.amountCents",
    "payment.currency",
  ]);
  expect(broken.every((claim) => claim.broken?.link === "digest")).toBe(true);
  const text = await pawl("trace", answered);
  expect(text.code).toBe(1);
  expect(text.stdout).toContain("BROKEN  5 of 8 claims");
});

test("a large result is traced by reference, and one byte of it counts too", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, claiming("order.status")]));
  crew.books.orders.set("A-1", { orderId: "A-1", status: "delivered", log: "x".repeat(9_000) });
  await crew.hire();
  const runId = await crew.accept();
  await crew.ended(runId);
  const pawl = pawlOn(crew);
  expect(await json(pawl("trace", runId, "--json"))).toMatchObject({
    ok: true,
    claims: [{ key: "order.status", recorded: { in: "reference", value: "delivered" } }],
  });
  const key = crew.keys.result(runId, "c1");
  const text = (await crew.redis.get(key)) ?? "";
  await crew.redis.set(key, text.replace("xxx", "xyx"));
  expect(linesOf(await pawl("trace", runId, "--json"))).toMatchObject([
    { ok: false, claims: [{ broken: { link: "digest" } }] },
  ]);
  await crew.redis.del(key);
  const gone = await pawl("trace", runId, "--json");
  expect(gone.code).toBe(1);
  expect(linesOf(gone)).toMatchObject([{ claims: [{ broken: { link: "result" } }] }]);
});

function claiming(fact: string) {
  return reply(["answer_user", { message: "It is there.", claims: [{ fact }] }]);
}

test("a changed snapshot makes replay fail at the path, and trace where it matters", async () => {
  const { backbone, pawl, answered } = await delivered();
  await rewriteSnapshot(backbone, answered, (text) => {
    const state = JSON.parse(text) as { spent: { steps: number }; facts: { value: unknown }[] };
    state.spent.steps = 1;
    return JSON.stringify(state);
  });
  const ran = await pawl("replay", answered, "--json");
  expect(ran.code).toBe(1);
  expect(linesOf(ran)).toMatchObject([{ id: answered, equal: false, path: "/spent/steps" }]);
  expect(JSON.parse(ran.stderr)).toMatchObject({
    error: { code: "PAWL_REPLAY_MISMATCH", path: "/spent/steps" },
  });
  const text = await pawl("replay", answered);
  expect(text).toMatchObject({ code: 1, stdout: "" });
  expect(text.stderr).toMatch(/^PAWL_REPLAY_MISMATCH: .*\/spent\/steps/);
  // The claims still rest on what was recorded.
  expect(await pawl("trace", answered)).toMatchObject({ code: 0 });
  await rewriteSnapshot(backbone, answered, (saved) => saved.replaceAll("NP-5510", "NP-5511"));
  const trace = await pawl("trace", answered, "--json");
  expect(trace.code).toBe(1);
  expect(linesOf(trace)).toMatchObject([{ ok: false, broken: { link: "outcome" } }]);
});

test("a malformed snapshot is told with its code and its path, and stays in the list", async () => {
  const { backbone, pawl, answered, handedOver } = await delivered();
  await rewriteSnapshot(backbone, answered, (text) => text.replace(`"steps":4`, `"steps":"4"`));
  const commands = ["show", "replay", "trace"];
  const told = await Promise.all(commands.map((command) => pawl(command, answered, "--json")));
  for (const ran of told) {
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(JSON.parse(ran.stderr)).toMatchObject({
      error: { code: "PAWL_STATE_UNREADABLE", path: "/spent/steps" },
    });
  }
  await rewriteSnapshot(backbone, answered, () => "{");
  expect((await pawl("show", answered)).stderr).toMatch(/^PAWL_STATE_UNREADABLE: .*not JSON/);
  expect(linesOf(await pawl("list", "--json"))).toMatchObject([
    { id: handedOver, status: "handoff" },
    { id: answered, status: null, error: { code: "PAWL_STATE_UNREADABLE" } },
  ]);
  expect((await pawl("list")).stdout).toContain("unreadable");
});

test("a run that a worker parked is shown from its journal as unreadable", async () => {
  const crew = await openCrew(scriptOf([ASK, ANSWER]));
  await crew.hire();
  const runId = await crew.accept();
  await crew.once(runId, (state) => state.status === "waiting");
  const pawl = pawlOn(crew);
  expect(await json(pawl("show", runId, "--json"))).toMatchObject({
    status: "waiting",
    reason: null,
    waiting: { for: "user_reply" },
    endedAt: null,
  });
  await rewriteSnapshot(crew, runId, (text) => text.replace(`"v":1`, `"v":99`));
  await crew.post(runId, { kind: "user_reply", id: "h1", text: "A-1" });
  await until(async () => (await crew.store.read(runId))?.parked === true);
  expect(await json(pawl("show", runId, "--json"))).toMatchObject({
    status: "failed",
    reason: "unreadable_state",
    waiting: null,
    steps: [{ tool: "ask_clarification" }],
    unreadable: { code: "PAWL_STATE_UNREADABLE", path: "/v" },
  });
  expect(linesOf(await pawl("list", "--status", "failed", "--json"))).toMatchObject([
    { id: runId, status: "failed", reason: "unreadable_state" },
  ]);
});

test("an approved effect is shown with who approved it, and its claims are traced", async () => {
  const refund = ["request_refund_approval", { orderId: "A-1", value: "closed" }] as const;
  const crew = await openCrew(scriptOf([GET_ORDER, reply(refund)]), {
    approvals: { request_refund_approval: { executes: "set_status" } },
  });
  await crew.hire();
  const runId = await crew.accept();
  const { pending } = await crew.once(runId, (state) => state.status === "waiting");
  const pawl = pawlOn(crew);
  expect((await pawl("show", runId)).stdout).toMatch(/waiting for approval until 20/);
  const approvalId = pending?.id ?? "";
  const decision = { approvalId, decision: "approved" as const, by: "Ann", note: null };
  await decideApproval({ store: crew.store, newId: systemClock.newId }, decision);
  await crew.ended(runId);
  const [view, trace] = await Promise.all([
    json(pawl("show", runId, "--json")),
    json(pawl("trace", runId, "--json")),
  ]);
  expect(view).toMatchObject({
    status: "completed",
    reason: "effect_confirmed",
    approvals: [{ id: approvalId, status: "used", by: "Ann" }],
    outcome: { kind: "effect", approvalId },
  });
  expect((view["steps"] as { tool: string }[]).at(-1)).toMatchObject({ tool: "set_status" });
  expect(trace).toMatchObject({
    ok: true,
    outcome: "effect",
    claims: [{ key: "set_status.value", call: { args: { value: "closed" } }, broken: null }],
  });
});

test("a step in hand changes no answer, and show tells what it has journaled", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]));
  const gate = createGate();
  await crew.hire({
    reach: (point, { step }) =>
      point === "before_save" && step === 2 ? gate.wait() : Promise.resolve(),
  });
  const runId = await crew.accept();
  await gate.reached;
  const pawl = pawlOn(crew);
  expect(await json(pawl("replay", runId, "--json"))).toMatchObject({ equal: true });
  const { inHand } = await json(pawl("show", runId, "--events", "--json"));
  expect((inHand as { type: string }[]).map(({ type }) => type)).toContain("decided");
  expect(await json(pawl("trace", runId, "--json"))).toMatchObject({ outcome: null, ok: true });
  gate.open();
  await crew.ended(runId);
});

test("sweep gives a run that lost its job another, and says so", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]));
  const runId = await crew.accept();
  await crew.queue.remove(runId, 1);
  const pawl = pawlOn(crew);
  expect(await json(pawl("sweep", "--json"))).toEqual({ looked: 0, repaired: [] });
  expect(await json(pawl("sweep", "--rest-ms", "0", "--json"))).toEqual({
    looked: 1,
    repaired: [{ runId, step: 1, kind: "run_without_job" }],
  });
  expect((await pawl("sweep", "--rest-ms", "0")).stdout).toContain("nothing to repair");
  await crew.hire();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
});

test("doctor finds a good Redis good and an unreachable one with advice", async () => {
  const backbone = await openBackbone();
  const good = await pawlOn(backbone)("doctor", "--json");
  expect(good).toMatchObject({ code: 0, stderr: "" });
  expect(linesOf(good).map(({ check, needed, ok }) => [check, needed === false || ok])).toEqual([
    ["node", true],
    ["redis", true],
    ["redis-version", true],
    ["appendonly", true],
    ["maxmemory-policy", true],
    ["provider-key", true],
    ["prefix", true],
  ]);
  const lost = await pawlOn(backbone, "redis://:a-secret@127.0.0.1:1")("doctor", "--json");
  expect(lost.code).toBe(2);
  expect(linesOf(lost).find(({ check }) => check === "redis")).toMatchObject({
    ok: false,
    found: expect.stringContaining("127.0.0.1:1"),
    advice: expect.stringContaining("REDIS_URL"),
  });
  expect(lost.stdout).not.toContain("a-secret");
});

test("what was asked wrongly is told as JSON on stderr, with the exit of its kind", async () => {
  const pawl = pawlOn(await openBackbone());
  const asked: readonly (readonly [readonly string[], number, string])[] = [
    [["show", "no-such-run"], 1, "PAWL_RUN_NOT_FOUND"],
    [["replay", "no-such-run"], 1, "PAWL_RUN_NOT_FOUND"],
    [["trace", "no such run"], 1, "PAWL_RUN_NOT_FOUND"],
    [["show"], 2, "PAWL_USAGE"],
    [["list", "--status", "done"], 2, "PAWL_USAGE"],
    [["list", "--limit", "0"], 2, "PAWL_USAGE"],
    [["sweep", "--rest-ms", "soon"], 2, "PAWL_USAGE"],
  ];
  const told = asked.map(async ([args, code, error]) => {
    const ran = await pawl(...args, "--json");
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: error } });
  });
  await Promise.all(told);
});
