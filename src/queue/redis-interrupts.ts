/**
 * Interrupts by Redis' publish and subscribe. A connection of its own, since a subscribed one takes
 * no other command; published by the script that puts the entry into the inbox.
 */
import type { Redis } from "ioredis";
import type { Interrupts } from "./interrupts.ts";

/** Owns `redis`, a connection that is not open yet. */
export function createRedisInterrupts(redis: Redis, channel: string): Interrupts {
  const watchers = new Map<string, Set<(entry: string) => void>>();
  redis.on("message", (_channel: string, message: string) => {
    const split = message.indexOf(" ");
    const entry = message.slice(split + 1);
    for (const tell of watchers.get(message.slice(0, split)) ?? []) tell(entry);
  });
  redis.on("error", () => undefined);
  return {
    async ready() {
      await redis.subscribe(channel);
    },
    watch(runId, onInterrupt) {
      const own = watchers.get(runId) ?? new Set();
      watchers.set(runId, own.add(onInterrupt));
      return () => {
        own.delete(onInterrupt);
        if (own.size === 0 && watchers.get(runId) === own) watchers.delete(runId);
      };
    },
    close: () => redis.disconnect(),
  };
}
