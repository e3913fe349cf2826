/**
 * One Redis for a whole vitest project, its address given to the tests by `inject("redisUrl")`.
 * A REDIS_URL of the caller is used as it is; no test may flush, each takes its own key prefix.
 */
import type { TestProject } from "vitest/node";
import { startPrivateRedis } from "../../src/app/private-redis.ts";

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string;
  }
}

/** Returns the teardown, as vitest asks of a global set-up. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["REDIS_URL"];
  if (given !== undefined && given !== "") {
    project.provide("redisUrl", given);
    return undefined;
  }
  const redis = await startPrivateRedis();
  project.provide("redisUrl", redis.url);
  return () => redis.stop();
}
