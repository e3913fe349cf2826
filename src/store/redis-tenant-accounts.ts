/** The tenants' days on Redis: reading one, and what journal.lua is told of a move. */
import type { Redis } from "ioredis";
import type { RedisKeys } from "./redis-keys.ts";
import { ACCOUNT_KEPT_MS, type AccountMove, type TenantAccounts } from "./tenant-account.ts";

export function createRedisTenantAccounts(redis: Redis, keys: RedisKeys): TenantAccounts {
  return {
    async read(day) {
      const fields = ["tokens", "money", "heldTokens", "heldMoney"] as const;
      const values = await redis.hmget(keys.tenantDay(day.tenant, day.day), ...fields);
      const [tokens = 0, moneyMicroUsd = 0, heldTokens = 0, heldMoney = 0] = values.map(Number);
      return {
        spent: { tokens, moneyMicroUsd },
        held: { tokens: heldTokens, moneyMicroUsd: heldMoney },
      };
    },
  };
}

/** ARGV 4 to 10 of journal.lua. */
export function accountArgv(runId: string, move: AccountMove | null): readonly (string | number)[] {
  if (move === null) return ["", "", "", "", "", "", ""];
  const { op, tokens, moneyMicroUsd } = move;
  const most = op === "reserve" ? move.most : { tokens: null, moneyMicroUsd: null };
  const limits = [most.tokens ?? "", most.moneyMicroUsd ?? ""];
  return [op, runId, tokens, moneyMicroUsd, ...limits, ACCOUNT_KEPT_MS];
}
