/**
 * A step worker for cases: reports every named point to the process that started it and waits
 * there, so that a test can let it die, freeze or hear something exactly there. Never part of a
 * deployment.
 */
import { pino } from "pino";
import { systemClock } from "../src/app/clock.ts";
import { agentPacks, connectBackbone, scriptedResolver, startWorker } from "../src/app/wire.ts";
import type { FromWorker, StartMessage, ToWorker } from "../src/app/worker-pool.ts";
import { createStepLog } from "../src/telemetry/log.ts";

const tell = (message: FromWorker): void => {
  process.send?.(message);
};

const waiting = new Map<number, () => void>();
let release: (() => Promise<void>) | null = null;
let count = 0;

async function start(message: StartMessage): Promise<void> {
  const backbone = await connectBackbone(message.url, message.prefix, systemClock);
  const options = { concurrency: 1, ...(message.locks === null ? {} : { locks: message.locks }) };
  // The runner must know this worker before its first point arrives: it says so by "go -1".
  const known = new Promise<void>((resolve) => waiting.set(-1, resolve));
  const worker = startWorker(
    backbone,
    systemClock,
    {
      resolve: scriptedResolver(backbone, agentPacks()),
      log: createStepLog(pino({ level: "silent" })),
      reach: async (point, { runId, step }) => {
        await known;
        const n = ++count;
        const go = new Promise<void>((resolve) => waiting.set(n, resolve));
        tell({ t: "reached", n, point, runId, step });
        await go;
      },
      jobDone: () => tell({ t: "job" }),
    },
    options,
  );
  await worker.ready();
  release = async () => {
    for (const go of waiting.values()) go();
    waiting.clear();
    await worker.close(2_000);
    await backbone.close();
  };
  tell({ t: "ready", workerId: worker.id });
}

process.on("message", (message: ToWorker) => {
  if (message.t === "start") void start(message);
  else if (message.t === "go") {
    waiting.get(message.n)?.();
    waiting.delete(message.n);
  } else {
    const done = release ?? (() => Promise.resolve());
    release = null;
    void done().then(() => tell({ t: "released" }));
  }
});
// Its parent is gone: nobody would ever let it go on.
process.on("disconnect", () => process.exit(0));
tell({ t: "up" });
