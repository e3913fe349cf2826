/** A start is refused on a Redis that may forget: an evicted run or job is lost without a sound. */
import type { Redis } from "ioredis";
import { PawlError } from "../core/errors.ts";

/** INFO and not CONFIG: managed services forbid the latter. */
export async function checkRedisSafety(redis: Redis): Promise<void> {
  const info = await redis.info("memory");
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? "unknown";
  if (policy === "noeviction") return;
  const message = `maxmemory-policy is ${policy}; Pawl needs noeviction, else Redis may drop runs`;
  throw new PawlError("PAWL_REDIS_UNSAFE", message, { path: "maxmemory-policy" });
}
