/**
 * A backbone on the project's real Redis under a prefix of its own, closed after the test. Most
 * tests take what app/wire.ts builds; the store's suite also needs the queue without its Lua.
 */
import { randomUUID } from "node:crypto";
import { inject, onTestFinished } from "vitest";
import { systemClock } from "../../src/app/clock.ts";
import { connectBackbone, type Backbone } from "../../src/app/wire.ts";
import { createRedisRunStore } from "../../src/store/redis-run-store.ts";
import type { RunStore, StepEnqueuer } from "../../src/store/run-store.ts";

export interface TestBackbone extends Backbone {
  /** Of a BullMQ key below the prefix: `waits`, `active`, a job's hash. */
  readonly queueKey: (name: string) => string;
}

export async function openBackbone(): Promise<TestBackbone> {
  const prefix = `{t-${randomUUID()}}`;
  const backbone = await connectBackbone(inject("redisUrl"), prefix, systemClock);
  onTestFinished(() => backbone.close());
  return { ...backbone, queueKey: (name) => `${prefix}:steps:${name}` };
}

export type Enqueuing = "composed" | "apart";

/** `apart`: what happens where BullMQ's source is unknown; jobs are added after the write. */
export function storeOn(
  backbone: Backbone,
  enqueuing: Enqueuing,
  newOp: () => string = systemClock.newId,
): RunStore {
  const { redis, keys, queue } = backbone;
  const apart: StepEnqueuer = { ...queue.enqueuer, lua: null };
  const enqueuer = enqueuing === "composed" ? queue.enqueuer : apart;
  return createRedisRunStore({ redis, keys, enqueuer, newOp, now: Date.now });
}
