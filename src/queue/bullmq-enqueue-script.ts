/**
 * BullMQ's own "add a standard job" Lua as a function inside our scripts, so that save and enqueue
 * are one atomic write. Only for the source whose text we know: any other version makes this null,
 * and jobs are added apart, after the save (one more round trip, same safety through the sweeper).
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";

/** SHA-256 of addStandardJob's content in bullmq 6.7.0; its contract is 9 keys and 3 arguments. */
const KNOWN_SOURCE = "2eee45c9ffc54d24681b737f926016a7f7464f0d32a5f87f623bffa2fc55413c";
const KEY_COUNT = 9;

interface ScriptModule {
  readonly addStandardJob?: { readonly content?: unknown; readonly keys?: unknown };
}

/** Lua `local function enqueue(KEYS, ARGV) … end`, or null where BullMQ's source is unknown. */
export function enqueueLua(): string | null {
  const source = standardJobSource();
  if (source === null) return null;
  if (createHash("sha256").update(source).digest("hex") !== KNOWN_SOURCE) return null;
  // The parameters shadow the script's own KEYS and ARGV, which is all that the source reads.
  return `local function enqueue(KEYS, ARGV)\n${source}\nend`;
}

function standardJobSource(): string | null {
  try {
    const require = createRequire(import.meta.url);
    const scripts = require("bullmq/dist/cjs/scripts/addStandardJob-9.js") as ScriptModule;
    const { content, keys } = scripts.addStandardJob ?? {};
    return typeof content === "string" && keys === KEY_COUNT ? content : null;
  } catch {
    return null;
  }
}
