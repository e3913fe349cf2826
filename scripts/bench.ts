/**
 * `npm run bench -- [--runs R] [--in-flight N] [--workers W] [--fsync everysec|always|no]
 * [--rounds K] [--json]`: runs of six steps through Pawl, in one go and on the same Redis with the
 * naive chain (the floor) and the bare chain, in turn. Only the ratios mean something on another
 * machine.
 */
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { systemClock } from "../src/app/clock.ts";
import { startPrivateRedis } from "../src/app/private-redis.ts";
import { connectBackbone, connectRedis } from "../src/app/wire.ts";
import { defineAgent } from "../src/agents/agent.ts";
import { acceptTicket } from "../src/ingest/accept-ticket.ts";
import { BENCH_AGENT, FLAVOURS, PADDING, STEPS, type Flavour } from "./bench-workload.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "300" },
    "in-flight": { type: "string", default: "50" },
    workers: { type: "string", default: "1" },
    fsync: { type: "string", default: "everysec" },
    rounds: { type: "string", default: "5" },
    json: { type: "boolean", default: false },
  },
});
const runs = Number(values.runs);
const inFlight = Number(values["in-flight"]);
const workers = Number(values.workers);

interface Measure {
  readonly stepsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly roundTripsPerStep: number;
  readonly commandsPerStep: number;
  readonly bytesPerFinishedRun: number;
  readonly rssMb: number;
}

/** Starts a run of a flavour; returns how to know how many have ended. */
interface Field {
  readonly start: (run: number) => Promise<void>;
  readonly ended: () => Promise<number>;
  readonly close: () => Promise<void>;
}

async function main(): Promise<void> {
  const redis = await startPrivateRedis({ appendFsync: values.fsync as "everysec" });
  const measures: Record<Flavour, Measure[]> = { pawl: [], floor: [], bare: [] };
  try {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const flavour of FLAVOURS)
        measures[flavour].push(await measure(flavour, redis.url, inFlight));
    }
    const alone = await measure("pawl", redis.url, 1);
    report(measures, alone);
  } finally {
    await redis.stop();
  }
}

async function measure(flavour: Flavour, url: string, most: number): Promise<Measure> {
  const prefix = `{bench-${systemClock.newId()}}`;
  const probe = connectRedis(url);
  await probe.connect();
  await probe.flushall();
  const field =
    flavour === "pawl" ? await pawlField(url, prefix) : await chainField(url, prefix, flavour);
  const children = await Promise.all(
    Array.from({ length: workers }, () => hire(flavour, url, prefix)),
  );
  const before = await counters(probe);
  const startedAt = performance.now();
  const startTimes: number[] = [];
  const times: number[] = [];
  for (let started = 0, ended = 0; ended < runs;) {
    while (started < runs && started - ended < most) {
      startTimes.push(performance.now());
      await field.start(started);
      started += 1;
    }
    // Rare enough not to be what is measured.
    await pause(5);
    const now = await field.ended();
    for (; ended < now; ended += 1)
      times.push((performance.now() - (startTimes[ended] ?? 0)) / STEPS);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await counters(probe);
  const bytes = await keyBytes(probe, prefix);
  const rssMb = Math.max(...(await Promise.all(children.map(rssOf))));
  for (const child of children) child.kill("SIGKILL");
  await field.close();
  probe.disconnect();
  times.sort((a, b) => a - b);
  const steps = runs * STEPS;
  return {
    stepsPerS: steps / seconds,
    p50Ms: times[Math.floor(times.length * 0.5)] ?? 0,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    roundTripsPerStep: (after.reads - before.reads) / steps,
    commandsPerStep: (after.commands - before.commands) / steps,
    bytesPerFinishedRun: bytes / runs,
    rssMb,
  };
}

async function pawlField(url: string, prefix: string): Promise<Field> {
  const backbone = await connectBackbone(url, prefix, systemClock);
  const agent = defineAgent({ ...BENCH_AGENT, tools: [] });
  const deps = { store: backbone.store, now: systemClock.now, newId: systemClock.newId };
  const body = PADDING;
  return {
    async start(run) {
      const ticket = { id: `T-${run}`, subject: "", body, revision: 1, attributes: {} };
      await acceptTicket(deps, { agent, ticket });
    },
    ended: () => backbone.redis.zcard(backbone.keys.byStatus("completed")),
    close: () => backbone.close(),
  };
}

async function chainField(url: string, prefix: string, flavour: Flavour): Promise<Field> {
  const redis = connectRedis(url);
  await redis.connect();
  const queue = new Queue("steps", { connection: redis, prefix });
  const state = JSON.stringify({ steps: 0, text: PADDING + PADDING });
  return {
    async start(run) {
      if (flavour === "floor") await redis.set(`${prefix}:state:${run}`, state);
      const data = { run: String(run), step: 1 };
      await queue.add("step", data, { removeOnComplete: true, removeOnFail: true });
    },
    ended: async () => Number(await redis.get(`${prefix}:done`)),
    async close() {
      await queue.close();
      redis.disconnect();
    },
  };
}

async function hire(flavour: Flavour, url: string, prefix: string): Promise<ChildProcess> {
  const entry = fileURLToPath(new URL("./bench-worker.ts", import.meta.url));
  const args = [flavour, url, prefix, String(Math.ceil(inFlight / workers))];
  const child = fork(entry, args, { execArgv: ["--import", "tsx"] });
  await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error("a bench worker ended while it started")));
  });
  return child;
}

async function rssOf(child: ChildProcess): Promise<number> {
  const answer = new Promise<{ rssMb: number }>((resolve) => {
    child.once("message", (message) => resolve(message as { rssMb: number }));
  });
  child.send("rss");
  return (await answer).rssMb;
}

/**
 * Reads of the socket by Redis: one for all commands that arrived together, which is a round trip.
 */
async function counters(redis: Redis): Promise<{ reads: number; commands: number }> {
  const info = await redis.info("stats");
  const of = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  return { reads: of("total_reads_processed"), commands: of("total_commands_processed") };
}

async function keyBytes(redis: Redis, prefix: string): Promise<number> {
  let bytes = 0;
  for (const key of await redis.keys(`${prefix}:*`)) {
    if (key.endsWith(":steps:events")) continue;
    bytes += Number(await redis.call("MEMORY", "USAGE", key, "SAMPLES", "0"));
  }
  return bytes;
}

function report(measures: Record<Flavour, Measure[]>, alone: Measure): void {
  const of = (flavour: Flavour): Measure => medians(measures[flavour]);
  const ratios = measures.pawl.map((m, i) => m.stepsPerS / (measures.floor[i]?.stepsPerS ?? 1));
  const result = {
    workload: { runs, steps: STEPS, inFlight, workers, rounds: Number(values.rounds) },
    node: process.version,
    fsync: values.fsync,
    // In flight together steps share their reads of the socket; alone each round trip is one.
    pawl: {
      ...of("pawl"),
      roundTripsPerStep: round(alone.roundTripsPerStep),
      singleStepMs: round(alone.p50Ms),
    },
    floor: of("floor"),
    bare: of("bare"),
    ratio: round(median(ratios)),
  };
  if (values.json) console.log(JSON.stringify(result));
  else console.table({ pawl: result.pawl, floor: result.floor, bare: result.bare });
  if (!values.json)
    console.log(`pawl / floor: ${result.ratio} (medians of ${values.rounds} rounds)`);
}

function medians(list: readonly Measure[]): Measure {
  const keys = Object.keys(list[0] ?? {}) as (keyof Measure)[];
  return Object.fromEntries(
    keys.map((key) => [key, round(median(list.map((m) => m[key])))]),
  ) as unknown as Measure;
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

await main();
