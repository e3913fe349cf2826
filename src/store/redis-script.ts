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

/**
 * Takes the name of a file in lua/, files of functions that it uses, and Lua of the queue's to put
 * before it; returns the callable script.
 */
export function defineScript(
  redis: Redis,
  name: string,
  uses: readonly string[] = [],
  before = "",
): Script {
  const command = `pawl_${name}`;
  // `enqueue` is a global that Redis forbids to read unless it is declared.
  const first = before === "" ? "local enqueue = nil" : before;
  const lua = [first, ...[...uses, name].map(read)].join("\n");
  redis.defineCommand(command, { lua });
  const call = (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[
    command
  ];
  if (call === undefined) throw new Error(`ioredis did not define ${command}`);
  return (keys, argv) => call.call(redis, keys.length, ...keys, ...argv);
}

function read(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), "utf8");
}
