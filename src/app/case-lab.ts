/**
 * A laboratory for one case: its own key prefix on a real Redis, workers from the pool, clean at
 * the end.
 */
import type { Lab } from "../cases/run-case.ts";
import { PawlError } from "../core/errors.ts";
import { systemClock } from "./clock.ts";
import { removeKeys } from "./remove-keys.ts";
import { connectBackbone, worldBooks } from "./wire.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** For cases that freeze a worker past its lock: seconds of waiting would prove nothing more. */
const SHORT_LOCKS = { lockMs: 1_000, stalledCheckMs: 250 };

export async function openLab(url: string, pool: WorkerPool): Promise<Lab> {
  const prefix = `{pawl-case-${systemClock.newId()}}`;
  const backbone = await connectBackbone(url, prefix, systemClock);
  const { store, queue, redis, keys } = backbone;
  return {
    store,
    queue,
    books: worldBooks(backbone),
    now: systemClock.now,
    newId: systemClock.newId,
    startWorker: (listener, locks) =>
      pool.acquire(
        { t: "start", url, prefix, locks: locks === "short" ? SHORT_LOCKS : null },
        listener,
      ),
    async tamper(runId, pointer, value) {
      const state = JSON.parse((await redis.hget(keys.run(runId), "json")) ?? "null") as unknown;
      setAt(state, pointer, value);
      await redis.hset(keys.run(runId), "json", JSON.stringify(state));
    },
    async close() {
      await removeKeys(redis, prefix);
      await backbone.close();
    },
  };
}

function setAt(document: unknown, pointer: string, value: unknown): void {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((p) => p.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = parts.pop();
  let here = document as Record<string, unknown> | null;
  for (const part of parts) here = (here?.[part] ?? null) as Record<string, unknown> | null;
  if (here === null || typeof here !== "object" || last === undefined) {
    throw new PawlError("PAWL_CASE_INVALID", `tamper: the state has nothing at ${pointer}`, {
      path: "/events",
    });
  }
  here[last] = value;
}
