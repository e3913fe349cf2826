/** The readers of the effect ledger on Redis; its rows are written with the run (intend, save). */
import type { Redis } from "ioredis";
import { LEDGER_KEPT_MS, type EffectLedger, type EffectRow } from "./effect-ledger.ts";
import type { RedisKeys } from "./redis-keys.ts";

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
