/**
 * Which Redis a command uses: REDIS_URL as it is; else one that answers on the default port; else
 * a private one. `kept`: its data stays in .pawl/redis, so that the next command finds the runs
 * again.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectRedis } from "./wire.ts";
import { startPrivateRedis } from "./private-redis.ts";

export interface UsedRedis {
  readonly url: string;
  readonly isPrivate: boolean;
  readonly stop: () => Promise<void>;
}

const DEFAULT_URL = "redis://127.0.0.1:6379";
const HOME = ".pawl/redis";

export async function useRedis(
  given: string | undefined,
  kind: "kept" | "throwaway",
): Promise<UsedRedis> {
  if (given !== undefined) return borrowed(given);
  if (kind === "throwaway") {
    const redis = await startPrivateRedis();
    return { url: redis.url, isPrivate: true, stop: () => redis.stop() };
  }
  if (await answers(DEFAULT_URL)) return borrowed(DEFAULT_URL);
  const dir = join(process.cwd(), HOME);
  await mkdir(dir, { recursive: true });
  const note = join(dir, "url");
  const running = await readFile(note, "utf8").catch(() => null);
  if (running !== null && (await answers(running))) return borrowed(running);
  const redis = await startPrivateRedis({ dir });
  await writeFile(note, redis.url);
  return {
    url: redis.url,
    isPrivate: true,
    async stop() {
      await rm(note, { force: true });
      await redis.stop();
    },
  };
}

function borrowed(url: string): UsedRedis {
  return { url, isPrivate: false, stop: () => Promise.resolve() };
}

async function answers(url: string): Promise<boolean> {
  const redis = connectRedis(url, { once: true });
  try {
    await redis.connect();
    return (await redis.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
