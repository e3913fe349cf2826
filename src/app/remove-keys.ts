/** Removes what was written under one prefix: a Redis that we were given is never flushed. */
import type { Redis } from "ioredis";

export async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "MATCH", `${prefix}:*`, "COUNT", 1_000);
    if (keys.length > 0) await redis.unlink(keys);
    cursor = next;
  } while (cursor !== "0");
}
