/**
 * The world's books on Redis, beside the run and apart from its state: one hash and one list a
 * run.
 */
import type { Redis } from "ioredis";
import type { Json } from "../core/json.ts";
import type { WorldBooks, WorldScript, WorldTotals } from "./world.ts";

/** Only the last request is compared; the list of notes stays short. */
const MOST_NOTES = 1_000;

export function createRedisWorldBooks(redis: Redis, prefix: string): WorldBooks {
  const books = (runId: string): string => `${prefix}:world:${runId}`;
  const notes = (runId: string): string => `${prefix}:world:${runId}:notes`;
  return {
    count: (runId, name, by = 1) => redis.hincrby(books(runId), `n:${name}`, by),
    async book(runId, tool, key, result) {
      const field = `book:${tool}:${key}`;
      await redis.hsetnx(books(runId), field, JSON.stringify(result));
      return JSON.parse((await redis.hget(books(runId), field)) ?? "null") as Json;
    },
    async booked(runId, tool, key) {
      const text = await redis.hget(books(runId), `book:${tool}:${key}`);
      return text === null ? undefined : (JSON.parse(text) as Json);
    },
    async sawKey(runId, tool, key) {
      await redis.hset(books(runId), `key:${tool}:${key}`, 1);
    },
    async note(runId, kind, text) {
      if (kind === "request") {
        await redis.hset(books(runId), "request", text);
        return;
      }
      await redis.rpush(notes(runId), `${kind} ${text}`);
      await redis.ltrim(notes(runId), -MOST_NOTES, -1);
    },
    async answerAt(runId, place) {
      const index = await redis.hget(books(runId), `at:${place}`);
      return index === null ? null : Number(index);
    },
    async setAnswerAt(runId, place, index) {
      await redis.hset(books(runId), `at:${place}`, index);
    },
    async put(runId, { text, ...rest }) {
      await redis.hset(books(runId), "case", text, "outside", JSON.stringify(rest));
    },
    async load(runId) {
      const [text, rest] = await redis.hmget(books(runId), "case", "outside");
      if (typeof text !== "string" || typeof rest !== "string") return null;
      return { text, ...(JSON.parse(rest) as Omit<WorldScript, "text">) };
    },
    async totals(runId) {
      const fields = await redis.hgetall(books(runId));
      const noted = await redis.lrange(notes(runId), 0, -1);
      return totalsOf(fields, noted);
    },
  };
}

function totalsOf(fields: Record<string, string>, noted: readonly string[]): WorldTotals {
  const of = (kind: string): string[] =>
    noted.flatMap((n) => (n.startsWith(`${kind} `) ? [n.slice(kind.length + 1)] : []));
  const request = fields["request"];
  return {
    modelCalls: Number(fields["n:modelCalls"] ?? 0),
    handlerCalls: countersOf(fields, "n:handler:"),
    effects: tallied(fields, "book:"),
    effectKeys: tallied(fields, "key:"),
    aborted: of("aborted"),
    faults: of("fault"),
    lastRequest: request === undefined ? null : (JSON.parse(request) as WorldTotals["lastRequest"]),
  };
}

function countersOf(fields: Record<string, string>, prefix: string): Record<string, number> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), Number(value)]] : [],
    ),
  );
}

/** How many fields `<prefix><tool>:<key>` there are for each tool. */
function tallied(fields: Record<string, string>, prefix: string): Record<string, number> {
  const tally: Record<string, number> = {};
  for (const name of Object.keys(fields)) {
    if (!name.startsWith(prefix)) continue;
    const tool = name.slice(prefix.length).split(":")[0] ?? "";
    tally[tool] = (tally[tool] ?? 0) + 1;
  }
  return tally;
}
