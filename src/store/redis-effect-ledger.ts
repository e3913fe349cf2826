/**
 * The effect ledger on Redis: reading it, and what the run's own scripts (intend, save) write of it
 * together with the run.
 */
import type { Redis } from "ioredis";
import {
  LEDGER_KEPT_MS,
  settledState,
  type EffectIntent,
  type EffectLedger,
  type EffectRow,
} from "./effect-ledger.ts";
import type { RedisKeys } from "./redis-keys.ts";
import type { Save } from "./run-store.ts";

export interface RedisEffectLedgerDeps {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  /** ms since epoch. */
  readonly now: () => number;
}

export function createRedisEffectLedger({ redis, keys, now }: RedisEffectLedgerDeps): EffectLedger {
  const row = async (idempotencyKey: string): Promise<EffectRow | null> => {
    const fields = await redis.hgetall(keys.effect(idempotencyKey));
    return fields["state"] === undefined ? null : rowOf(idempotencyKey, fields);
  };
  return {
    row,
    countOf: (customerId) =>
      redis.zcount(keys.effectsOf(customerId), now() - LEDGER_KEPT_MS, "+inf"),
    async ofCustomer(customerId, limit) {
      const ids = await redis.zrevrange(keys.effectsOf(customerId), 0, limit - 1);
      const rows = await Promise.all(ids.map(row));
      return rows.filter((found) => found !== null);
    },
  };
}

function rowOf(idempotencyKey: string, fields: Record<string, string>): EffectRow {
  const text = (name: string): string => fields[name] ?? "";
  return {
    idempotencyKey,
    state: text("state") as EffectRow["state"],
    runId: text("run"),
    step: Number(text("step")),
    callId: text("call"),
    tool: text("tool"),
    customerId: fields["customer"] ?? null,
    ticketId: text("ticket"),
    argsHash: text("args_hash"),
    intendedAt: Number(text("at")),
    settledAt: fields["settled_at"] === undefined ? null : Number(fields["settled_at"]),
  };
}

/** Fields and values of a new row, for intend.lua. */
export function rowArgv(runId: string, intent: EffectIntent): (string | number)[] {
  const { event, customerId, ticketId, argsHash } = intent;
  const { step, callId, tool } = event;
  const row = { run: runId, step, call: callId, tool, ticket: ticketId, args_hash: argsHash };
  const fields = Object.entries(row).flat();
  return customerId === null ? fields : [...fields, "customer", customerId];
}

/** A step makes one call: at most one effect is settled by its save. */
export function settledEffect(keys: RedisKeys, { state, events }: Save) {
  const call = events.findLast((event) => event.type === "called");
  const key = call?.idempotencyKey;
  if (call === undefined || key === undefined) {
    const none = keys.run(state.id);
    return { keys: [none, none], argv: ["", ""] };
  }
  const customerId = state.ticket.customer?.id;
  const customer = customerId === undefined ? keys.run(state.id) : keys.effectsOf(customerId);
  return { keys: [keys.effect(key), customer], argv: [settledState(call.outcome), key] };
}
