/** The suite of the RunStore contract, with jobs added in the same write and apart from it. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Event, Happening } from "../../src/core/event.ts";
import { reduce, replay } from "../../src/core/reduce.ts";
import { parseRunState, type RunState } from "../../src/core/run-state.ts";
import { type Approval } from "../../src/core/approval.ts";
import { stop } from "../../src/core/stop.ts";
import type { ApprovalDecision, Claim, Fence, RunStore, Save } from "../../src/store/run-store.ts";
import type { DayLimits } from "../../src/store/tenant-account.ts";
import { openBackbone, storeOn, type Enqueuing } from "../support/backbone.ts";
import { orderDomain } from "../support/order-agent.ts";
import { acceptedEvent, AT } from "../support/run-fixture.ts";

type Claimed = Extract<Claim, { kind: "claimed" }>;

async function setup(enqueuing: Enqueuing) {
  const backbone = await openBackbone();
  let fixedOp: string | null = null;
  const store = storeOn(backbone, enqueuing, () => fixedOp ?? randomUUID());
  const { agent } = orderDomain();

  /** The next writes carry one operation id, as when a client sends a script again. */
  const resending = async <T>(write: () => Promise<T>): Promise<[T, T]> => {
    fixedOp = randomUUID();
    const both: [T, T] = [await write(), await write()];
    fixedOp = null;
    return both;
  };

  let at = AT;
  const create = async (ticketId = "T-1", name = "orders"): Promise<string> => {
    const runId = randomUUID();
    at += 1;
    const accepted = { ...acceptedEvent({ ...agent, name }, { id: ticketId }), runId, at };
    const state = replay([accepted]);
    expect(await store.create({ runId, ticketId, state, events: [accepted] })).toBe(true);
    return runId;
  };

  const claim = async (runId: string, step = 1): Promise<Claimed> => {
    const found = await store.claim(runId, step);
    if (found.kind !== "claimed") throw new Error(`not claimed: ${found.kind}`);
    return found;
  };

  const stored = async (runId: string): Promise<RunState> => {
    const run = await store.read(runId);
    if (run === null) throw new Error("no such run");
    return parseRunState(run.json);
  };

  const hasJob = (runId: string, step: number) => backbone.queue.presence(runId, step);
  /** As when a worker finished the job: with its step the job goes. */
  const finishJob = (runId: string, step: number) => backbone.queue.remove(runId, step);

  return { ...backbone, store, create, claim, stored, hasJob, finishJob, resending };
}

/** A save that ends the step with these events after it began running. */
function saveOf(json: string, more: readonly Event[], changes: Partial<Save> = {}): Save {
  const before = parseRunState(json);
  const first: Event[] =
    before.status === "queued" ? [{ type: "started", at: AT, step: before.step }] : [];
  const events = [...first, ...more];
  const state = events.reduce<RunState>((s, event) => reduce(s, event), before);
  return {
    state,
    events,
    heard: 0,
    onlyIfHeardAll: false,
    previousStatus: before.status,
    ...changes,
  };
}

const STEP_ENDED: Event = { type: "step_ended", at: AT, step: 1, ms: 1 };
const PARKED: readonly Event[] = [
  { type: "parked", at: AT, step: 1, for: "user_reply", until: null },
  STEP_ENDED,
];
const ENDED: Event = {
  type: "ended",
  at: AT,
  step: 1,
  ...stop("stalled", "no_progress", ""),
  earlierStep: null,
  outcome: { kind: "stop", known: [], unknown: [], contradicts: [], tried: [], detail: "" },
};
const REPLY: Happening = { kind: "user_reply", id: "h1", text: "hello" };

const PENDING: Approval = {
  id: "a1",
  step: 1,
  callId: "c1",
  terminal: "request_refund_approval",
  tool: "create_refund",
  args: { amountCents: 500 },
  argsHash: "h1",
  key: "create_refund:k",
  policyVersion: "1",
  heard: 0,
  requestedAt: AT,
  expiresAt: Number.MAX_SAFE_INTEGER,
  status: "pending",
  by: null,
  note: null,
};
const APPROVE: Happening = {
  kind: "approval_decision",
  id: "d1",
  approvalId: "a1",
  decision: "approved",
  by: "u-1",
  note: null,
  argsHash: "h1",
};

const parkedRun = async (kit: Awaited<ReturnType<typeof setup>>): Promise<string> => {
  const runId = await kit.create();
  const claimed = await kit.claim(runId);
  expect(await kit.store.save(claimed.fence, saveOf(claimed.json, PARKED))).toBe("applied");
  await kit.finishJob(runId, 1);
  return runId;
};

const endedRun = async (kit: Awaited<ReturnType<typeof setup>>) => {
  const runId = await kit.create();
  const claimed = await kit.claim(runId);
  const save = saveOf(claimed.json, [ENDED]);
  expect(await kit.store.save(claimed.fence, save)).toBe("applied");
  return { runId, fence: claimed.fence, json: claimed.json };
};

describe.each(["composed", "apart"] as const)("a run store, jobs %s", (enqueuing) => {
  describe("create", () => {
    test("a run is there with its first event and the job of its first step", async () => {
      const { store, create, hasJob } = await setup(enqueuing);
      const runId = await create();
      expect(await store.read(runId)).toMatchObject({ id: runId, step: 1, inbox: 0, journal: [] });
      expect(await store.events(runId)).toHaveLength(1);
      expect(await hasJob(runId, 1)).toBe("present");
    });

    test("an id is created once, and the first stays as it is", async () => {
      const { store, create, stored } = await setup(enqueuing);
      const runId = await create();
      const other = { ...(await stored(runId)), createdAt: 7 };
      const again = { runId, ticketId: "T-2", state: other, events: [] };
      expect(await store.create(again)).toBe(false);
      expect(await stored(runId)).not.toMatchObject({ createdAt: 7 });
      expect(await store.list({ ticketId: "T-2", limit: 9 })).toEqual([]);
    });

    test("a creation sent again is the same creation", async () => {
      const { store, resending, hasJob } = await setup(enqueuing);
      const runId = randomUUID();
      const accepted = { ...acceptedEvent(orderDomain().agent), runId };
      const run = { runId, ticketId: "T-1", state: replay([accepted]), events: [accepted] };
      expect(await resending(() => store.create(run))).toEqual([true, true]);
      expect(await store.events(runId)).toHaveLength(1);
      expect(await hasJob(runId, 1)).toBe("present");
    });

    test.each(["", "a:b", "a b", "x".repeat(65), "../x"])("%j is no run id", async (runId) => {
      const { store } = await setup(enqueuing);
      await expect(store.claim(runId, 1)).rejects.toMatchObject({ code: "PAWL_RUN_NOT_FOUND" });
    });
  });

  describe("claim", () => {
    test("gives the snapshot, the step's journal and the inbox", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      await store.post(runId, REPLY);
      const first = await claim(runId);
      expect(first).toMatchObject({
        tries: { claims: 1, crashes: 0, faults: 0 },
        journal: [],
        inbox: [JSON.stringify(REPLY)],
      });
      await store.journal(first.fence, [{ type: "started", at: AT, step: 1 }]);
      const second = await claim(runId);
      expect(second.tries).toEqual({ claims: 2, crashes: 1, faults: 0 });
      expect(second.json).toBe(first.json);
      expect(second.journal.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { type: "started" },
      ]);
    });

    test("fences who claimed before: it can write no more and changes nothing", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      const frozen = await claim(runId);
      const winner = await claim(runId);
      const before = await store.read(runId);
      expect(await store.journal(frozen.fence, [STEP_ENDED])).toBe("conflict");
      expect(await store.save(frozen.fence, saveOf(frozen.json, [STEP_ENDED]))).toBe("conflict");
      expect(await store.park(frozen.fence)).toBe("conflict");
      expect(await store.read(runId)).toEqual(before);
      expect(await store.events(runId)).toHaveLength(1);
      expect(await store.save(winner.fence, saveOf(winner.json, [STEP_ENDED]))).toBe("applied");
    });

    test("a claim sent again is the same claim", async () => {
      const { store, create, resending } = await setup(enqueuing);
      const runId = await create();
      const [first, second] = await resending(() => store.claim(runId, 1));
      expect(second).toEqual(first);
      expect(first).toMatchObject({ tries: { claims: 1 } });
    });

    test("once more by the same worker is no new try", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      const { fence } = await claim(runId);
      expect(await store.claim(runId, 1, true)).toMatchObject({
        tries: { claims: 1, crashes: 0 },
        fence: { rev: fence.rev + 1 },
      });
    });

    test("given back is no crash, and a fault only if the step threw", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      expect(await store.release((await claim(runId)).fence, "handed_back")).toBe("applied");
      const second = await claim(runId);
      expect(second.tries).toEqual({ claims: 2, crashes: 0, faults: 0 });
      expect(await store.release(second.fence, "fault")).toBe("applied");
      await claim(runId);
      // The third died: nobody gave it back.
      const last = await claim(runId);
      expect(last.tries).toEqual({ claims: 4, crashes: 1, faults: 1 });
      await store.save(last.fence, saveOf(last.json, [STEP_ENDED]));
      expect(await store.claim(runId, 2)).toMatchObject({
        tries: { claims: 1, crashes: 0, faults: 0 },
      });
    });

    test("cannot be given back by who lost it, and given back twice is once", async () => {
      const { store, create, claim, resending } = await setup(enqueuing);
      const runId = await create();
      const frozen = await claim(runId);
      const { fence } = await claim(runId);
      expect(await store.release(frozen.fence, "handed_back")).toBe("conflict");
      const replies = await resending(() => store.release({ ...fence }, "handed_back"));
      expect(replies).toEqual(["applied", "applied"]);
      expect((await claim(runId)).tries).toEqual({ claims: 3, crashes: 1, faults: 0 });
    });

    test("tells what is missing, ended or elsewhere", async () => {
      const kit = await setup(enqueuing);
      expect(await kit.store.claim(randomUUID(), 1)).toEqual({ kind: "missing" });
      const { runId } = await endedRun(kit);
      expect(await kit.store.claim(runId, 1)).toEqual({ kind: "ended" });
      const other = await kit.create();
      expect(await kit.store.claim(other, 7)).toEqual({ kind: "elsewhere", step: 1 });
    });
  });

  describe("deadlines", () => {
    const LATE = AT + 10 * 24 * 3_600_000;
    const overdue = (store: RunStore) => store.overdue(LATE, 1_000, 9);

    test("a run that is under way has one, for one caller at a time", async () => {
      const { store, create } = await setup(enqueuing);
      const runId = await create();
      expect(await overdue(store)).toEqual([runId]);
      expect(await overdue(store)).toEqual([]);
      expect(await store.overdue(LATE + 1_001, 1_000, 9)).toEqual([runId]);
    });

    test("a parked run and an ended run have none", async () => {
      const kit = await setup(enqueuing);
      await parkedRun(kit);
      await endedRun(kit);
      expect(await overdue(kit.store)).toEqual([]);
    });

    test("one can be moved and taken away, and an ended run gets none", async () => {
      const kit = await setup(enqueuing);
      const { store } = kit;
      const runId = await kit.create();
      await store.setDeadline(runId, LATE + 1);
      expect(await overdue(store)).toEqual([]);
      await store.setDeadline(runId, null);
      expect(await store.overdue(LATE + 9, 1_000, 9)).toEqual([]);
      await store.setDeadline((await endedRun(kit)).runId, 1);
      expect(await overdue(store)).toEqual([]);
    });
  });

  describe("journal", () => {
    test("appends in order and survives until the save", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const text = { type: "nudged", at: AT, step: 1 } as const;
      expect(await store.journal(fence, [{ type: "started", at: AT, step: 1 }])).toBe("applied");
      expect(await store.journal(fence, [text, text])).toBe("applied");
      expect((await store.read(runId))?.journal).toHaveLength(3);
      await store.save(fence, saveOf(json, [STEP_ENDED]));
      expect((await store.read(runId))?.journal).toEqual([]);
    });

    test("a line break and any script of the world come back as they were", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      const { fence } = await claim(runId);
      const detail = 'a\nb\r\n"c" \u2028 🍸 \ud83c % {}';
      const event = { ...ENDED, detail } as Event;
      await store.journal(fence, [event]);
      const [line] = (await store.read(runId))?.journal ?? [];
      expect(JSON.parse(line ?? "")).toMatchObject({ detail });
    });

    test("a journal sent again is written once", async () => {
      const { store, create, claim, resending } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const frozen: Fence = { ...fence };
      await resending(async () => store.journal({ ...frozen }, [STEP_ENDED]));
      expect((await store.read(runId))?.journal).toHaveLength(1);
      fence.rev += 1;
      expect(await store.save(fence, saveOf(json, [STEP_ENDED]))).toBe("applied");
    });
  });

  describe("a tenant's day", () => {
    const account = { tenant: "acme", day: "2026-12-04" };
    const reserveOf = (tokens: number, moneyMicroUsd: number, most: Partial<DayLimits> = {}) => ({
      op: "reserve" as const,
      ...account,
      tokens,
      moneyMicroUsd,
      most: { tokens: null, moneyMicroUsd: null, ...most },
    });
    const settleOf = (tokens: number, moneyMicroUsd: number) => ({
      op: "settle" as const,
      ...account,
      tokens,
      moneyMicroUsd,
    });
    const none = { tokens: 0, moneyMicroUsd: 0 };

    test("holds what is reserved, and spends what is settled of it", async () => {
      const { store, accounts, create, claim } = await setup(enqueuing);
      const { fence } = await claim(await create());
      expect(await accounts.read(account)).toEqual({ spent: none, held: none });
      expect(await store.journal(fence, [STEP_ENDED], reserveOf(100, 50))).toBe("applied");
      const held = { tokens: 100, moneyMicroUsd: 50 };
      expect(await accounts.read(account)).toEqual({ spent: none, held });
      expect(await store.journal(fence, [STEP_ENDED], settleOf(70, 20))).toBe("applied");
      const spent = { tokens: 70, moneyMicroUsd: 20 };
      expect(await accounts.read(account)).toEqual({ spent, held: none });
    });

    test.each([
      [{ tokens: 99 }, "no_tokens"],
      [{ tokens: 100 }, "applied"],
      [{ tokens: 101 }, "applied"],
      [{ moneyMicroUsd: 49 }, "no_money"],
      [{ moneyMicroUsd: 50 }, "applied"],
      [{ tokens: 0, moneyMicroUsd: 0 }, "no_money"],
    ] as const)("of %j 100 tokens and 50 micro-USD: %s", async (most, written) => {
      const { store, accounts, create, claim } = await setup(enqueuing);
      const runId = await create();
      const { fence } = await claim(runId);
      expect(await store.journal(fence, [STEP_ENDED], reserveOf(100, 50, most))).toBe(written);
      const isHeld = written === "applied";
      expect((await accounts.read(account)).held.tokens).toBe(isHeld ? 100 : 0);
      expect((await store.read(runId))?.journal).toHaveLength(isHeld ? 1 : 0);
      // A refusal leaves the fence as it was: the step can still write.
      expect(await store.journal(fence, [STEP_ENDED])).toBe("applied");
    });

    test("two runs share it, and other tenants and days do not", async () => {
      const { store, accounts, create, claim } = await setup(enqueuing);
      const [one, two] = [await claim(await create()), await claim(await create())];
      const most = { tokens: 150 };
      expect(await store.journal(one.fence, [], reserveOf(100, 0, most))).toBe("applied");
      expect(await store.journal(two.fence, [], reserveOf(100, 0, most))).toBe("no_tokens");
      const other = { ...reserveOf(100, 0, most), tenant: "other" };
      expect(await store.journal(two.fence, [], other)).toBe("applied");
      const later = { ...reserveOf(100, 0, most), day: "2026-12-05" };
      expect(await store.journal(two.fence, [], later)).toBe("applied");
      expect((await accounts.read(account)).held.tokens).toBe(100);
    });

    test("moved in a write that is sent again, it is moved once", async () => {
      const { store, accounts, create, claim, resending } = await setup(enqueuing);
      const { fence } = await claim(await create());
      const frozen: Fence = { ...fence };
      await resending(() => store.journal({ ...frozen }, [STEP_ENDED], reserveOf(100, 50)));
      fence.rev += 1;
      expect((await accounts.read(account)).held.tokens).toBe(100);
      const again: Fence = { ...fence };
      await resending(() => store.journal({ ...again }, [STEP_ENDED], settleOf(70, 20)));
      expect(await accounts.read(account)).toMatchObject({ spent: { tokens: 70 }, held: none });
    });

    test("is not moved by a worker that lost its claim", async () => {
      const { store, accounts, create, claim } = await setup(enqueuing);
      const runId = await create();
      const stale = await claim(runId);
      await claim(runId);
      expect(await store.journal(stale.fence, [], reserveOf(1, 1))).toBe("conflict");
      expect((await accounts.read(account)).held).toEqual(none);
    });

    test("what a lost reservation holds stays held when the run reserves anew", async () => {
      const { store, accounts, create, claim } = await setup(enqueuing);
      const { fence } = await claim(await create());
      await store.journal(fence, [], reserveOf(100, 50));
      await store.journal(fence, [], reserveOf(30, 10));
      expect((await accounts.read(account)).held.tokens).toBe(130);
      await store.journal(fence, [], settleOf(20, 5));
      expect(await accounts.read(account)).toEqual({
        spent: { tokens: 20, moneyMicroUsd: 5 },
        held: { tokens: 100, moneyMicroUsd: 50 },
      });
    });

    test("is kept for a quarter, and gone then", async () => {
      const { store, redis, keys, create, claim } = await setup(enqueuing);
      const { fence } = await claim(await create());
      await store.journal(fence, [], reserveOf(1, 1));
      const ttl = await redis.pttl(keys.tenantDay(account.tenant, account.day));
      expect(ttl / 86_400_000).toBeCloseTo(100, 1);
    });
  });

  describe("save", () => {
    test("makes snapshot, events, index and next job true together", async () => {
      const { store, create, claim, stored, hasJob } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const save = saveOf(json, [STEP_ENDED]);
      expect(await store.save(fence, save)).toBe("applied");
      expect(await stored(runId)).toEqual(save.state);
      expect(await store.events(runId, 1)).toEqual(save.events.map((e) => JSON.stringify(e)));
      expect(await hasJob(runId, 2)).toBe("present");
      expect(await store.list({ status: "running", limit: 9 })).toMatchObject([{ id: runId }]);
      expect(await store.list({ status: "queued", limit: 9 })).toEqual([]);
      expect(await claim(runId, 2)).toMatchObject({ tries: { claims: 1 } });
    });

    test("a save sent again is applied once, and its job is there", async () => {
      const { store, create, claim, resending, hasJob } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const save = saveOf(json, [STEP_ENDED]);
      const both = await resending(() => store.save({ ...fence }, save));
      expect(both).toEqual(["applied", "applied"]);
      expect(await store.events(runId)).toHaveLength(1 + save.events.length);
      expect(await hasJob(runId, 2)).toBe("present");
    });

    test("a save whose reply was lost before its job was added adds it when sent again", async () => {
      const { store, create, claim, resending, hasJob, finishJob } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const save = saveOf(json, [STEP_ENDED]);
      let sent = 0;
      await resending(async () => {
        sent += 1;
        // Between the two sendings the job is not there: the client died before it could add it.
        if (sent === 2 && enqueuing === "apart") await finishJob(runId, 2);
        return store.save({ ...fence }, save);
      });
      expect(await hasJob(runId, 2)).toBe("present");
    });

    test("many events of one step are all written", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      const nudges = Array.from({ length: 2_500 }, (): Event => ({
        type: "nudged",
        at: AT,
        step: 1,
      }));
      expect(await store.save(fence, saveOf(json, [...nudges, STEP_ENDED]))).toBe("applied");
      expect(await store.events(runId)).toHaveLength(2_503);
    });

    test("a waiting run gets no job", async () => {
      const kit = await setup(enqueuing);
      const runId = await parkedRun(kit);
      expect(await kit.hasJob(runId, 2)).toBe("absent");
      expect(await kit.store.list({ status: "waiting", limit: 9 })).toMatchObject([{ id: runId }]);
    });

    test("a waiting run with unheard mail gets its job with the save", async () => {
      const kit = await setup(enqueuing);
      const runId = await kit.create();
      const { fence, json } = await kit.claim(runId);
      await kit.store.post(runId, REPLY);
      expect(await kit.store.save(fence, saveOf(json, PARKED))).toBe("applied");
      expect(await kit.hasJob(runId, 2)).toBe("present");
      expect(await kit.claim(runId, 2)).toMatchObject({ inbox: [JSON.stringify(REPLY)] });
    });

    test("an outward message is refused when somebody wrote meanwhile, and nothing changes", async () => {
      const { store, create, claim, stored } = await setup(enqueuing);
      const runId = await create();
      const { fence, json } = await claim(runId);
      await store.post(runId, REPLY);
      const outward = saveOf(json, [ENDED], { onlyIfHeardAll: true });
      expect(await store.save(fence, outward)).toBe("inbox_changed");
      expect(await stored(runId)).toEqual(parseRunState(json));
      expect(await store.events(runId)).toHaveLength(1);
      const heard = await claim(runId);
      expect(await store.save(heard.fence, { ...outward, heard: 1 })).toBe("applied");
    });

    test("mail that was heard is gone, mail that came later stays", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      await store.post(runId, REPLY);
      const { fence, json } = await claim(runId);
      await store.post(runId, { ...REPLY, id: "h2" });
      await store.save(fence, saveOf(json, [STEP_ENDED], { heard: 1 }));
      const { inbox } = await claim(runId, 2);
      expect(inbox.map((entry) => JSON.parse(entry) as unknown)).toMatchObject([{ id: "h2" }]);
    });
  });

  describe("an ended run", () => {
    test("refuses every write and stays as it is", async () => {
      const kit = await setup(enqueuing);
      const { runId, fence, json } = await endedRun(kit);
      const before = await kit.store.read(runId);
      expect(await kit.store.save(fence, saveOf(json, [STEP_ENDED]))).toBe("conflict");
      expect(await kit.store.journal(fence, [STEP_ENDED])).toBe("conflict");
      expect(await kit.store.park(fence)).toBe("conflict");
      expect(await kit.store.post(runId, REPLY)).toBe("ended");
      expect(await kit.store.read(runId)).toEqual(before);
    });

    test("has no job, no inbox and is not idle", async () => {
      const kit = await setup(enqueuing);
      const { runId } = await endedRun(kit);
      expect(await kit.hasJob(runId, 2)).toBe("absent");
      expect(await kit.store.read(runId)).toMatchObject({ inbox: 0 });
      expect(await kit.store.idle(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
    });
  });

  describe("post", () => {
    test("wakes a waiting run", async () => {
      const kit = await setup(enqueuing);
      const runId = await parkedRun(kit);
      expect(await kit.store.post(runId, REPLY)).toBe("posted");
      expect(await kit.hasJob(runId, 2)).toBe("present");
    });

    test("to a run that is not there is told", async () => {
      const { store } = await setup(enqueuing);
      expect(await store.post(randomUUID(), REPLY)).toBe("missing");
    });

    test("a flood is refused, not stored", async () => {
      const { store, create, redis, keys } = await setup(enqueuing);
      const runId = await create();
      await redis.rpush(keys.inbox(runId), ...Array.from({ length: 1_000 }, () => "{}"));
      expect(await store.post(runId, REPLY)).toBe("full");
      expect(await store.read(runId)).toMatchObject({ inbox: 1_000 });
    });
  });

  describe("decide", () => {
    const asking = async (approval: Partial<Approval> = {}) => {
      const kit = await setup(enqueuing);
      const runId = await kit.create();
      const { fence, json } = await kit.claim(runId);
      const asked = { ...PENDING, ...approval };
      const events: Event[] = [
        { type: "approval_requested", at: AT, step: 1, approval: asked },
        { type: "parked", at: AT, step: 1, for: "approval", until: asked.expiresAt },
        STEP_ENDED,
      ];
      expect(await kit.store.save(fence, saveOf(json, events))).toBe("applied");
      await kit.finishJob(runId, 1);
      const decide = (changes: Partial<ApprovalDecision> = {}) =>
        kit.store.decide({
          runId,
          approvalId: asked.id,
          argsHash: asked.argsHash,
          happening: APPROVE,
          ...changes,
        });
      return { ...kit, runId, decide };
    };

    test("the decision is in the inbox and the run is woken", async () => {
      const { decide, claim, hasJob, runId } = await asking();
      expect(await decide()).toBe("decided");
      expect(await hasJob(runId, 2)).toBe("present");
      expect(await claim(runId, 2)).toMatchObject({ inbox: [JSON.stringify(APPROVE)] });
    });

    test("of two at the same moment one decides", async () => {
      const { decide, store, runId } = await asking();
      const said = await Promise.all([decide(), decide()]);
      expect(said.toSorted((a, b) => a.localeCompare(b))).toEqual(["already_decided", "decided"]);
      expect(await store.read(runId)).toMatchObject({ inbox: 1 });
    });

    test("what was not asked for, seen otherwise or too late is refused", async () => {
      const { decide, store, runId } = await asking();
      expect(await decide({ approvalId: "other" })).toBe("unknown_approval");
      expect(await decide({ argsHash: "other" })).toBe("arguments_changed");
      expect(await decide({ runId: randomUUID() })).toBe("missing");
      expect(await store.read(runId)).toMatchObject({ inbox: 0 });
      const late = await asking({ expiresAt: 1 });
      expect(await late.decide()).toBe("approval_expired");
    });

    test("a run that waits for none, or has ended, takes none", async () => {
      const kit = await setup(enqueuing);
      const said = { approvalId: "a1", argsHash: "h", happening: APPROVE };
      const runId = await kit.create();
      expect(await kit.store.decide({ runId, ...said })).toBe("unknown_approval");
      const ended = await endedRun(kit);
      expect(await kit.store.decide({ runId: ended.runId, ...said })).toBe("run_ended");
    });
  });

  describe("park", () => {
    test("ends the run and leaves snapshot, journal and events as they are", async () => {
      const { store, create, claim, redis, keys } = await setup(enqueuing);
      const runId = await create();
      await redis.hset(keys.run(runId), "json", "{broken", "journal", "{also\n");
      const { fence } = await claim(runId);
      expect(await store.park(fence)).toBe("applied");
      expect(await store.read(runId)).toMatchObject({
        json: "{broken",
        journal: ["{also"],
        parked: true,
      });
      expect(await store.events(runId)).toHaveLength(1);
      expect(await store.claim(runId, 1)).toEqual({ kind: "ended" });
      expect(await store.idle(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
      expect(await store.list({ status: "failed", limit: 9 })).toMatchObject([{ id: runId }]);
    });

    test("sent again it is the same park", async () => {
      const { store, create, claim, resending } = await setup(enqueuing);
      const { fence } = await claim(await create());
      const both = await resending(() => store.park({ ...fence }));
      expect(both).toEqual(["applied", "applied"]);
    });
  });

  describe("list and idle", () => {
    test("the newest runs come first, by status, ticket and agent, up to the limit", async () => {
      const { store, create } = await setup(enqueuing);
      const a = await create("T-1", "orders");
      const b = await create("T-2", "orders");
      const c = await create("T-1", "refunds");
      const ids = async (filter: object) =>
        (await store.list({ limit: 9, ...filter })).map((run) => run.id);
      expect(await ids({})).toEqual([c, b, a]);
      expect(await ids({ ticketId: "T-1" })).toEqual([c, a]);
      expect(await ids({ agent: "refunds" })).toEqual([c]);
      expect(await ids({ agent: "orders", ticketId: "T-1" })).toEqual([a]);
      expect(await ids({ status: "queued" })).toEqual([c, b, a]);
      expect(await ids({ status: "running" })).toEqual([]);
      expect(await ids({ limit: 2 })).toEqual([c, b]);
    });

    test("a parked run is listed as failed only", async () => {
      const { store, create, claim } = await setup(enqueuing);
      const runId = await create();
      await store.park((await claim(runId)).fence);
      expect(await store.list({ status: "queued", limit: 9 })).toEqual([]);
      expect(await store.list({ status: "failed", limit: 9 })).toMatchObject([{ id: runId }]);
    });

    test("unfinished runs that rest are idle, strictly before the time asked for", async () => {
      const { store, create, redis, keys } = await setup(enqueuing);
      const runId = await create();
      await redis.zadd(keys.live, 5_000, runId);
      expect(await store.idle(5_000, 9)).toEqual([]);
      expect(await store.idle(5_001, 9)).toEqual([runId]);
    });
  });

  test("a large result is kept under its own key", async () => {
    const { store, create } = await setup(enqueuing);
    const runId = await create();
    const text = JSON.stringify("🍸".repeat(200_000));
    await store.putResult(runId, "c1", text);
    expect(await store.result(runId, "c1")).toBe(text);
    expect(await store.result(runId, "c2")).toBeNull();
  });
});
