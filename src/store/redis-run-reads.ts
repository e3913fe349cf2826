/** Reading runs for people: one, or a filtered page. No fence: what is read may be old by then. */
import type { Redis } from "ioredis";
import type { RedisKeys } from "./redis-keys.ts";
import type { RunFilter, StoredRun } from "./run-store.ts";

/** Runs looked at for one page of a filtered list: bounds the work of `list --agent`. */
const LIST_SCAN = 10_000;
const LIST_PAGE = 200;

/** Journal lines as the scripts join them: each ends with a line feed. */
export function splitLines(text: string): string[] {
  return text === "" ? [] : text.trimEnd().split("\n");
}

export async function readRun(
  redis: Redis,
  keys: RedisKeys,
  id: string,
): Promise<StoredRun | null> {
  const [rev, step, json, journal, parked, claims, since] = await redis.hmget(
    keys.run(id),
    "rev",
    "step",
    "json",
    "journal",
    "parked",
    "claims",
    "since",
  );
  if (rev === null || rev === undefined) return null;
  return {
    id,
    json: json ?? "",
    rev: Number(rev),
    step: Number(step),
    inbox: await redis.llen(keys.inbox(id)),
    journal: splitLines(journal ?? ""),
    since: Number(claims) > 0 ? Number(since) : null,
    parked: parked !== null && parked !== undefined,
  };
}

/** Newest first. */
export async function listRuns(
  redis: Redis,
  keys: RedisKeys,
  filter: RunFilter,
): Promise<StoredRun[]> {
  const index =
    filter.ticketId !== undefined
      ? keys.byTicket(filter.ticketId)
      : filter.status === undefined
        ? keys.all
        : keys.byStatus(filter.status);
  const found: StoredRun[] = [];
  for (let from = 0; from < LIST_SCAN && found.length < filter.limit; from += LIST_PAGE) {
    const ids = await redis.zrevrange(index, from, from + LIST_PAGE - 1);
    for (const id of ids) {
      const run = await readRun(redis, keys, id);
      if (run !== null && fits(run, filter) && found.length < filter.limit) found.push(run);
    }
    if (ids.length < LIST_PAGE) break;
  }
  return found;
}

/** A run that cannot be read is listed rather than hidden, unless a filter needs to read it. */
function fits(run: StoredRun, filter: RunFilter): boolean {
  if (filter.agent === undefined && filter.status === undefined) return true;
  try {
    const { agent, status } = JSON.parse(run.json) as { agent: { name: string }; status: string };
    const shown = run.parked ? "failed" : status;
    const isAgent = filter.agent === undefined || agent.name === filter.agent;
    return isAgent && (filter.status === undefined || shown === filter.status);
  } catch {
    return filter.agent === undefined && filter.status === "failed";
  }
}
