/**
 * A Redis of our own for the demo, the tests and `pawl dev`: on a free port of 127.0.0.1, with the
 * settings that Pawl demands (AOF, noeviction). Invariant: it never outlives the process that
 * started it, however that process ends, and a folder that was given is never removed.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { PawlError } from "../core/errors.ts";

export interface PrivateRedisOptions {
  /** Kept on stop, so that a later start reads its data. Default: a temporary one, removed. */
  readonly dir?: string;
  readonly appendFsync?: "everysec" | "always" | "no";
  /** For a restart at the address that clients know. Default: any free one. */
  readonly port?: number;
}

export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends the server after it has written its AOF; safe to call twice and after a crash of it. */
  stop(): Promise<void>;
}

const BINARIES = ["redis-server", "valkey-server"] as const;
/** Another process may take the free port between our look and the server's bind. */
const PORT_ATTEMPTS = 5;
/** 82 ms is usual; 20 s leaves room for a large AOF and a loaded machine. */
const READY_ATTEMPTS = 800;
const READY_PAUSE_MS = 25;
const REPLY_TIMEOUT_MS = 1_000;
const STOP_TIMEOUT_MS = 5_000;
const LOG_SHOWN_CHARS = 600;
const LOG_FILE = "redis.log";

/** Resolves when it answers; rejects with PAWL_REDIS_NOT_FOUND or PAWL_REDIS_UNREACHABLE. */
export async function startPrivateRedis(options: PrivateRedisOptions = {}): Promise<PrivateRedis> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "pawl-redis-")));
  const isTemporary = options.dir === undefined;
  const discard = async (): Promise<void> => {
    if (isTemporary) await rm(dir, { recursive: true, force: true });
  };
  try {
    await mkdir(dir, { recursive: true });
    const { child, pid, port } = await startOnPort(dir, options);
    const stop = (): Promise<void> => ended(child).then(discard);
    return { url: `redis://127.0.0.1:${port}`, port, pid, stop };
  } catch (error) {
    await discard();
    throw error;
  }
}

interface Server {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

async function startOnPort(dir: string, options: PrivateRedisOptions): Promise<Server> {
  const attempts = options.port === undefined ? PORT_ATTEMPTS : 1;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = options.port ?? (await freePort());
    const server = await spawnServer(port, dir, options.appendFsync ?? "everysec");
    guard(server, options.dir === undefined ? dir : "");
    if (await isReady(server)) return server;
    server.child.kill("SIGKILL");
  }
  const log = await readFile(join(dir, LOG_FILE), "utf8").catch(() => "no log was written");
  throw new PawlError(
    "PAWL_REDIS_UNREACHABLE",
    `a private Redis in ${dir} gave no answer in ${attempts} attempts; the end of its log: ${log.slice(-LOG_SHOWN_CHARS).trim()}`,
  );
}

async function spawnServer(port: number, dir: string, fsync: string): Promise<Server> {
  const settings = {
    port: String(port),
    bind: "127.0.0.1",
    dir,
    logfile: join(dir, LOG_FILE),
    save: "",
    appendonly: "yes",
    appendfsync: fsync,
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  for (const binary of BINARIES) {
    // Detached, so that Ctrl+C reaches us and not the server that our workers still write to.
    const child = spawn(binary, args, { stdio: "ignore", detached: true });
    if ((await isSpawned(child)) && child.pid !== undefined) return { child, pid: child.pid, port };
  }
  throw new PawlError(
    "PAWL_REDIS_NOT_FOUND",
    `neither ${BINARIES.join(" nor ")} is on PATH: install one (apt-get install redis-server, brew install redis) or set REDIS_URL`,
  );
}

async function isSpawned(child: ChildProcess): Promise<boolean> {
  try {
    await once(child, "spawn");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

/**
 * A SIGKILL runs no handler of ours, but whatever ends this process closes our end of the shell's
 * stdin: then `read` returns and the shell ends the server. (`pdeathsig` exists on Linux only.)
 */
function guard({ child, pid }: Server, temporaryDir: string): void {
  const script = 'read -r _; kill -TERM "$1"; [ -z "$2" ] || { sleep 1; rm -rf -- "$2"; }';
  const shell = spawn("/bin/sh", ["-c", script, "pawl-guard", String(pid), temporaryDir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // A pid is used again after its process: with the server gone nothing may be sent to it.
  child.once("exit", () => shell.kill("SIGKILL"));
  // None of these keeps a process alive that has nothing else to do.
  child.unref();
  shell.unref();
  (shell.stdin as Socket).unref();
}

/** False when the server ended, most often because its port was taken meanwhile. */
async function isReady({ child, pid, port }: Server): Promise<boolean> {
  for (let attempt = 0; attempt < READY_ATTEMPTS && isAlive(child); attempt += 1) {
    const reply = await ask(port, "PING\r\nINFO server\r\n");
    // The process id tells our server from a stranger that won the race for the port.
    if (reply.includes("+PONG") && reply.includes(`process_id:${pid}\r\n`)) return true;
    await pause(READY_PAUSE_MS);
  }
  return false;
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** What came back until the section's lines were there, the peer closed or a second passed. */
function ask(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let reply = "";
    const socket = connect({ port, host: "127.0.0.1" }, () => socket.write(request));
    socket.setEncoding("utf8").setTimeout(REPLY_TIMEOUT_MS, () => socket.destroy());
    socket.on("data", (chunk: string) => {
      reply += chunk;
      if (/process_id:\d+\r\n/.test(reply)) socket.destroy();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(reply));
  });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function ended(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const gone = once(child, "exit");
  child.ref();
  child.kill("SIGTERM");
  const patience = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(patience);
}
