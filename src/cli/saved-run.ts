/**
 * What the reading commands share: the backbone for the length of one command, and one run with
 * the journal that belongs to its snapshot, while workers may be writing both.
 */
import { systemClock } from "../app/clock.ts";
import { readConfig } from "../app/config.ts";
import { useRedis } from "../app/local-redis.ts";
import { connectBackbone, type Backbone } from "../app/wire.ts";
import { PawlError } from "../core/errors.ts";
import { parseEvent, type Event } from "../core/event.ts";
import type { RunStore, StoredRun } from "../store/run-store.ts";

/** A run saves once a step; to lose every one of these races it would have to be a fault. */
const MOST_READS = 50;

export interface SavedRun {
  readonly run: StoredRun;
  /** Journal lines as stored, of saved steps only. */
  readonly lines: readonly string[];
}

/** Connects, lets the command do its work, and closes whatever comes. */
export async function withBackbone<T>(use: (backbone: Backbone) => Promise<T>): Promise<T> {
  const config = readConfig();
  const redis = await useRedis(config.REDIS_URL, "kept");
  let backbone: Backbone | null = null;
  try {
    backbone = await connectBackbone(redis.url, config.PAWL_PREFIX, systemClock);
    return await use(backbone);
  } finally {
    await backbone?.close();
    await redis.stop();
  }
}

/** Throws PAWL_RUN_NOT_FOUND. Snapshot and journal are of the same moment. */
export async function readSaved(store: RunStore, runId: string): Promise<SavedRun> {
  for (let read = 0; read < MOST_READS; read += 1) {
    const run = await store.read(runId);
    if (run === null) {
      throw new PawlError("PAWL_RUN_NOT_FOUND", `there is no run ${runId.slice(0, 80)}`);
    }
    const lines = await store.events(runId);
    const after = await store.read(runId);
    if (after?.json === run.json) return { run, lines };
  }
  throw new PawlError("PAWL_STEP_CONFLICT", `run ${runId} changed during ${MOST_READS} reads`);
}

/** What the step in hand has journaled and not yet saved. */
export function eventsInHand({ run, lines }: SavedRun): Event[] {
  return run.journal.map((line, i) => parseEvent(line, lines.length + i));
}

/** Takes an option's text; throws PAWL_USAGE naming it and its bounds. */
export function wholeNumber(name: string, given: string, min: number, max: number): number {
  const value = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new PawlError("PAWL_USAGE", `${name} takes a whole number from ${min} to ${max}`, {
    path: name,
  });
}
