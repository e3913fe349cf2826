/**
 * Lua scripts beside the code, sent once a connection (EVALSHA afterwards, NOSCRIPT recovered by
 * ioredis).
 */
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

export type Script = (
  keys: readonly string[],
  argv: readonly (string | number | Buffer)[],
) => Promise<unknown>;

/** Takes the name of a file in lua/ and Lua to put before it; returns the callable script. */
export function defineScript(redis: Redis, name: string, before = ""): Script {
  const file = new URL(`./lua/${name}.lua`, import.meta.url);
  const command = `pawl_${name}`;
  // `enqueue` is a global that Redis forbids to read unless it is declared.
  const lua = `${before === "" ? "local enqueue = nil" : before}\n${readFileSync(file, "utf8")}`;
  redis.defineCommand(command, { lua });
  const call = (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[
    command
  ];
  if (call === undefined) throw new Error(`ioredis did not define ${command}`);
  return (keys, argv) => call.call(redis, keys.length, ...keys, ...argv);
}
