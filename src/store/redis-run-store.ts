/**
 * The run store on Redis. A run is one hash, one list of journal lines, one inbox; every change is
 * one Lua script that compares the revision first. Nothing here decides anything: it only makes
 * true or not.
 */
import type { Redis } from "ioredis";
import type { Event } from "../core/event.ts";
import { deadlineOf } from "../core/budget.ts";
import type { RunState } from "../core/run-state.ts";
import { isTerminal } from "../core/stop.ts";
import type { RedisKeys } from "./redis-keys.ts";
import { LEDGER_KEPT_MS } from "./effect-ledger.ts";
import { rowArgv, settledEffect } from "./redis-effect-ledger.ts";
import { listRuns, readRun, splitLines } from "./redis-run-reads.ts";
import { defineScript } from "./redis-script.ts";
import { accountArgv } from "./redis-tenant-accounts.ts";
import type {
  Claim,
  Decided,
  Fence,
  NewRun,
  Posted,
  RunStore,
  Save,
  StepEnqueuer,
  Tries,
  Written,
} from "./run-store.ts";

/** More than any conversation brings while one step runs; a flood is refused, not stored. */
const MOST_INBOX_ENTRIES = 200;

export interface RedisRunStoreDeps {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly enqueuer: StepEnqueuer;
  /** Unique for every write, so that a resent script knows itself. */
  readonly newOp: () => string;
  readonly now: () => number;
}

export function createRedisRunStore(deps: RedisRunStoreDeps): RunStore {
  const { redis, keys, enqueuer, newOp, now } = deps;
  const composed = enqueuer.lua ?? "";
  const create = defineScript(redis, "create", [], composed);
  const save = defineScript(redis, "save", [], composed);
  const claim = defineScript(redis, "claim");
  const release = defineScript(redis, "release");
  const overdue = defineScript(redis, "overdue");
  const journal = defineScript(redis, "journal", ["account", "gate"]);
  const intend = defineScript(redis, "intend");
  const post = defineScript(redis, "post");
  const park = defineScript(redis, "park");
  const decide = defineScript(redis, "decide");
  const queueKeys = enqueuer.lua === null ? [] : enqueuer.keys;
  const queueArgv = async (runId: string, step: number): Promise<readonly (string | Buffer)[]> =>
    enqueuer.lua === null ? [] : enqueuer.argv(runId, step);

  return {
    async create({ runId, ticketId, state, events }: NewRun) {
      const { status, createdAt, step } = state;
      const made = await create(
        [
          keys.run(runId),
          keys.events(runId),
          keys.all,
          keys.live,
          keys.byStatus(status),
          keys.byTicket(ticketId),
          keys.deadlines,
          ...queueKeys,
        ],
        [
          newOp(),
          JSON.stringify(state),
          createdAt,
          runId,
          status,
          step,
          ...approvalArgv(state),
          deadlineOf(state) ?? "",
          events.length,
          ...events.map(lineOf),
          ...(await queueArgv(runId, step)),
        ],
      );
      if (made === 1 && enqueuer.lua === null) await enqueuer.add(runId, step);
      return made === 1;
    },

    async claim(runId, step, again = false): Promise<Claim> {
      const argv = [newOp(), step, again ? 1 : 0, now()];
      const reply = await claim([keys.run(runId), keys.inbox(runId)], argv);
      const [kind, rev, ...rest] = reply as [string, ...string[]];
      const [claims, excused, faults, since, json, lines, ...inbox] = rest;
      if (kind === "missing" || kind === "ended") return { kind };
      if (kind === "elsewhere") return { kind, step: Number(rev) };
      return {
        kind: "claimed",
        fence: { runId, step, rev: Number(rev) },
        tries: triesOf(Number(claims), Number(excused), Number(faults)),
        since: Number(since),
        json: json ?? "",
        journal: splitLines(lines ?? ""),
        inbox,
      };
    },

    async release(fence, why) {
      const argv = [newOp(), fence.rev, why === "fault" ? 1 : 0];
      return written(fence, await release([keys.run(fence.runId)], argv));
    },

    async journal(fence, events, move = null, gate = null) {
      const { runId } = fence;
      const lines = events.map((event) => `${lineOf(event)}\n`).join("");
      const day = move === null ? keys.run(runId) : keys.tenantDay(move.tenant, move.day);
      const canWait = gate?.canWait === true ? 1 : 0;
      const argv = [newOp(), fence.rev, lines, ...accountArgv(runId, move), canWait];
      const asked = gate === null ? [] : [keys.gate(gate.name)];
      const reply = await journal([keys.run(runId), day, ...asked], argv);
      if (Array.isArray(reply)) return { gatedMs: Number(reply[0]) };
      if (reply === 5 || reply === 6) return reply === 5 ? "no_tokens" : "no_money";
      const isWritten = written(fence, reply);
      return reply === 7 ? "probe" : isWritten;
    },

    async intend(fence, events, intent) {
      const { idempotencyKey } = intent.event;
      const target = [keys.run(fence.runId), keys.effect(idempotencyKey)];
      if (intent.customerId !== null) target.push(keys.effectsOf(intent.customerId));
      const lines = events.map((event) => `${lineOf(event)}\n`).join("");
      const known = intent.customerEffects ?? "";
      const argv = [newOp(), fence.rev, lines, idempotencyKey, now(), LEDGER_KEPT_MS, known];
      const reply = await intend(target, [...argv, ...rowArgv(fence.runId, intent)]);
      if (reply === 3) return "customer_changed";
      const isWritten = written(fence, reply);
      return reply === 4 ? "known" : isWritten;
    },

    async save(fence: Fence, change: Save): Promise<Written> {
      const { state, events } = change;
      const { runId } = fence;
      const hasEnded = isTerminal(state.status);
      const wantsNext = !hasEnded && state.status !== "waiting";
      const effect = settledEffect(keys, change);
      const reply = await save(
        [
          keys.run(runId),
          keys.events(runId),
          keys.inbox(runId),
          keys.live,
          keys.byStatus(change.previousStatus),
          keys.byStatus(state.status),
          keys.deadlines,
          ...effect.keys,
          ...queueKeys,
        ],
        [
          newOp(),
          fence.rev,
          JSON.stringify(state),
          state.step,
          hasEnded ? 1 : 0,
          wantsNext ? 1 : 0,
          change.heard,
          change.onlyIfHeardAll ? 1 : 0,
          now(),
          runId,
          state.createdAt,
          ...approvalArgv(state),
          deadlineChange(change),
          ...effect.argv,
          events.length,
          ...events.map(lineOf),
          ...(hasEnded ? [] : await queueArgv(runId, state.step)),
        ],
      );
      if (reply === 3) return "inbox_changed";
      // A crash between the two writes leaves a run without a job: the sweeper's case. Sent again,
      // the script says only that it was applied, so the job is added then too.
      const isApart = reply === 4 || (reply === 2 && enqueuer.lua === null && wantsNext);
      if (isApart) await enqueuer.add(runId, state.step);
      return written(fence, reply);
    },

    async post(runId, happening): Promise<Posted> {
      const entry = JSON.stringify(happening);
      const target = [keys.run(runId), keys.inbox(runId)];
      const channel = happening.kind === "cancel" ? keys.interrupts : "";
      const step = await post(target, [entry, MOST_INBOX_ENTRIES, channel, runId]);
      if (step === -1) return "missing";
      if (step === -2) return "full";
      if (step === 0) return "ended";
      // An id that exists already is the job that will take this in; a save in between adds the
      // next.
      await enqueuer.wake(runId, Number(step));
      return "posted";
    },

    async decide({ runId, approvalId, argsHash, happening }): Promise<Decided> {
      const target = [keys.run(runId), keys.inbox(runId), keys.approval(approvalId)];
      const entry = JSON.stringify(happening);
      const reply = Number(await decide(target, [approvalId, argsHash, entry, now(), newOp()]));
      if (reply > 0) await enqueuer.wake(runId, reply);
      return reply > 0 ? "decided" : (REFUSED[-reply] ?? "missing");
    },

    read: (runId) => readRun(redis, keys, runId),

    events: (runId, from = 0) => redis.lrange(keys.events(runId), from, -1),

    async putResult(runId, callId, text) {
      await redis.set(keys.result(runId, callId), text);
    },

    result: (runId, callId) => redis.get(keys.result(runId, callId)),

    async results(runId, callIds) {
      if (callIds.length === 0) return new Map();
      const texts = await redis.mget(callIds.map((id) => keys.result(runId, id)));
      return new Map(callIds.flatMap((id, i) => (texts[i] ? [[id, texts[i]] as const] : [])));
    },

    list: (filter) => listRuns(redis, keys, filter),

    idle: (beforeMs, limit) =>
      redis.zrange(keys.live, "-inf", `(${beforeMs}`, "BYSCORE", "LIMIT", 0, limit),

    async overdue(at, leaseMs, limit) {
      return (await overdue([keys.deadlines], [at, at + leaseMs, limit])) as string[];
    },

    async setDeadline(runId, at) {
      await (at === null
        ? redis.zrem(keys.deadlines, runId)
        : redis.zadd(keys.deadlines, "XX", at, runId));
    },

    async looked(runId) {
      await redis.zadd(keys.live, "XX", now(), runId);
    },

    async park(fence) {
      const target = [keys.run(fence.runId), keys.live, keys.byStatus("failed"), keys.deadlines];
      return written(fence, await park(target, [newOp(), fence.rev, fence.runId, now()]));
    },
  };
}

/** By the negated reply of decide.lua. */
const REFUSED: readonly Decided[] = [
  "run_ended",
  "missing",
  "already_decided",
  "unknown_approval",
  "arguments_changed",
  "approval_expired",
];

function triesOf(claims: number, excused: number, faults: number): Tries {
  return { claims, crashes: Math.max(0, claims - 1 - excused), faults };
}

/** As ARGV: the new deadline, "none" to take it away, "" where it stays as it is. */
function deadlineChange({ state, previousStatus }: Save): number | string {
  // It moves only when a run begins, parks, goes on or ends: no command for the steps in between.
  if (previousStatus === "running" && state.status === "running") return "";
  return deadlineOf(state) ?? "none";
}

function approvalArgv({ pending }: RunState): readonly (string | number)[] {
  if (pending === null || pending.status !== "pending") return ["", "", 0];
  return [pending.id, pending.argsHash, pending.expiresAt];
}

function written(fence: Fence, reply: unknown): "applied" | "conflict" {
  if (reply === 0) return "conflict";
  fence.rev += 1;
  return "applied";
}

function lineOf(event: Event): string {
  return JSON.stringify(event);
}
