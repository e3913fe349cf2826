/** The gates before the models on Redis: one small hash each, gone a minute after its last use. */
import type { Redis } from "ioredis";
import type { ModelGates } from "./model-gates.ts";
import type { RedisKeys } from "./redis-keys.ts";
import { defineScript } from "./redis-script.ts";

export function createRedisModelGates(redis: Redis, keys: RedisKeys): ModelGates {
  const close = defineScript(redis, "close-gate", ["gate"]);
  return {
    close: async (gate, ms) => Number(await close([keys.gate(gate)], [Math.ceil(ms)])),
    async open(gate) {
      await redis.del(keys.gate(gate));
    },
  };
}
