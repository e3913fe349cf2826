/**
 * Worker processes for cases and the demo: started ahead, handed out one case at a time, killed for
 * real. A killed process is never reused; a released one works on the next case.
 */
import { fork, type ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { LabListener, LabWorker, Reached } from "../cases/run-case.ts";

export interface WorkerPool {
  readonly acquire: (start: StartMessage, listener: LabListener) => Promise<LabWorker>;
  readonly close: () => Promise<void>;
}

export interface StartMessage {
  readonly t: "start";
  readonly url: string;
  readonly prefix: string;
  readonly locks: { readonly lockMs: number; readonly stalledCheckMs: number } | null;
}

export type ToWorker =
  | StartMessage
  | { readonly t: "go"; readonly n: number }
  | { readonly t: "release" };

export type FromWorker =
  | { readonly t: "up" }
  | { readonly t: "ready"; readonly workerId: string }
  | { readonly t: "released" }
  | ({ readonly t: "reached" } & Reached)
  | { readonly t: "job" };

/**
 * Compiled and in one file: it starts four times as fast as its sources, and thousands are killed.
 */
const ENTRY = import.meta.url.endsWith(".ts")
  ? "../../dist/workers/case-worker.bundle.mjs"
  : "../../workers/case-worker.bundle.mjs";

/** Keeps so many processes started ahead. */
export function createWorkerPool(warm: number): WorkerPool {
  const idle: Promise<ChildProcess>[] = [];
  const all = new Set<ChildProcess>();
  let isClosed = false;

  const spawn = (): Promise<ChildProcess> => {
    const child = fork(fileURLToPath(new URL(ENTRY, import.meta.url)), [], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    all.add(child);
    child.once("exit", () => all.delete(child));
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error("a case worker ended while it started")));
      child.once("message", () => resolve(child));
    });
  };
  const refill = (): void => {
    while (!isClosed && idle.length < warm) {
      const child = spawn();
      // Looked at when it is handed out.
      child.catch(() => undefined);
      idle.push(child);
    }
  };
  refill();

  return {
    async acquire(start, listener) {
      const taken = idle.shift() ?? spawn();
      refill();
      return enrol(await taken, start, listener, (child) => {
        if (isClosed) child.kill("SIGKILL");
        else idle.unshift(Promise.resolve(child));
      });
    },
    async close() {
      isClosed = true;
      const gone = [...all].map((child) => killed(child));
      await Promise.all(gone);
    },
  };
}

async function enrol(
  child: ChildProcess,
  start: StartMessage,
  listener: LabListener,
  giveBack: (child: ChildProcess) => void,
): Promise<LabWorker> {
  const send = (message: ToWorker): void => {
    if (child.connected) child.send(message);
  };
  let released: () => void = () => undefined;
  let worker: LabWorker | null = null;
  const ready = new Promise<string>((resolve, reject) => {
    const onExit = (): void => reject(new Error("a case worker ended before it was ready"));
    child.once("exit", onExit);
    child.on("message", (message: FromWorker) => {
      if (message.t === "ready") {
        child.off("exit", onExit);
        resolve(message.workerId);
      }
      if (message.t === "released") released();
      else if (message.t === "job") listener.jobDone();
      else if (message.t === "reached" && worker !== null) listener.reached(worker, message);
    });
  });
  send(start);
  const workerId = await ready;
  worker = {
    workerId,
    go: ({ n }) => send({ t: "go", n }),
    kill: () => killed(child),
    async freeze(ms) {
      child.kill("SIGSTOP");
      await pause(ms);
      child.kill("SIGCONT");
    },
    async release() {
      const onExit = (): void => released();
      const gone = new Promise<void>((resolve) => {
        released = resolve;
        child.once("exit", onExit);
      });
      send({ t: "release" });
      await gone;
      // Only our own: the pool may be waiting for this very exit.
      child.off("exit", onExit);
      child.removeAllListeners("message");
      if (child.exitCode === null && child.signalCode === null) giveBack(child);
    },
  };
  send({ t: "go", n: -1 });
  return worker;
}

function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
