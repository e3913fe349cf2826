/**
 * Makes a clone runnable: Node is new enough, dependencies match the lock, a Redis is at hand and
 * dist/ is built from the sources as they are. The npm `pre…` hooks call it before every command,
 * so it imports only Node itself and is quick when nothing is to do. Stdout stays empty: it
 * belongs to the command that follows (`--json`).
 *
 * Options: --no-redis, --no-build: leave that part out.
 *          --with-type-errors: build in spite of them; the caller reports them itself.
 * Exits 2 when the machine lacks something that only its owner can add, 1 when a step failed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const MIN_NODE = [20, 19];
const LOCK = path.join(ROOT, ".pawl", "setup.lock");
/** npm ci on a slow line takes a few minutes; a lock older than this was left by a dead machine. */
const LOCK_STALE_MS = 15 * 60_000;
const LOCK_POLL_MS = 200;
const ASSET = /\.(lua|md|json)$/;
const BUILT = ["src", "workers"];
const STAMP = path.join(ROOT, "dist", ".stamp");

/**
 * Each manager with the commands to try in order, the second half where a distribution ships only
 * Valkey. RUNLEVEL=1 keeps Debian's package from starting a Redis on 6379 that nobody asked for
 * (where init scripts and not systemd decide).
 */
const MANAGERS = [
  {
    command: "apt-get",
    before: "update",
    installs: ["install -y redis-server", "install -y valkey-server"],
    env: ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"],
  },
  { command: "dnf", installs: ["install -y redis", "install -y valkey"] },
  { command: "apk", installs: ["add redis", "add valkey"] },
  { command: "brew", installs: ["install redis"], asUser: true },
];

const options = new Set(process.argv.slice(2));

main();

function main() {
  checkNode();
  if (!dependenciesMatchLock()) alone(() => dependenciesMatchLock() || installDependencies());
  if (!options.has("--no-redis") && !process.env.REDIS_URL && !redisOnPath()) installRedis();
  if (!options.has("--no-build") && !isBuilt()) alone(() => isBuilt() || build());
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isEnough = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
  if (!isEnough) {
    fail(2, `Node ${MIN_NODE.join(".")} or newer is needed, this is ${process.versions.node}.`);
  }
}

// --- dependencies

/**
 * npm writes node_modules/.package-lock.json last, so its presence says that an install ended.
 * Versions are compared rather than times: a checkout changes times and not contents. Optional
 * packages of other platforms are rightly absent.
 */
function dependenciesMatchLock() {
  const wanted = packagesOf(path.join(ROOT, "package-lock.json"));
  const present = packagesOf(path.join(ROOT, "node_modules", ".package-lock.json"));
  if (wanted === null)
    fail(1, "package-lock.json is missing or unreadable: is this a whole clone?");
  if (present === null) return false;
  return Object.entries(wanted).every(([where, entry]) => {
    if (where === "") return true;
    const found = present[where];
    if (found === undefined) return entry.optional === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

function packagesOf(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8")).packages ?? null;
  } catch {
    return null;
  }
}

function installDependencies() {
  say("installing dependencies (npm ci)");
  // --include=dev: NODE_ENV=production in the caller's shell would leave the compiler out.
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund"];
  const npm = process.env.npm_execpath;
  const status = npm?.endsWith(".js") ? run(process.execPath, [npm, ...args]) : run("npm", args);
  if (status !== 0) fail(1, `npm ci failed (${status}); its own output is above.`);
}

// --- Redis

function redisOnPath() {
  return onPath("redis-server") || onPath("valkey-server");
}

function onPath(name) {
  return (process.env.PATH ?? "").split(path.delimiter).some((folder) => {
    try {
      fs.accessSync(path.join(folder, name), fs.constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}

function installRedis() {
  const manager = MANAGERS.find(({ command }) => onPath(command));
  const prefix = manager === undefined ? null : rights(manager);
  if (manager === undefined || prefix === null) fail(2, adviceFor(manager));
  const ask = (args) => {
    const line = [...prefix, ...(manager.env ?? []), manager.command, ...args.split(" ")];
    say(`no redis-server or valkey-server found; running: ${line.join(" ")}`);
    return run(line[0], line.slice(1));
  };
  if (manager.before !== undefined) ask(manager.before);
  for (const args of manager.installs) {
    if (ask(args) === 0 && redisOnPath()) return;
  }
  fail(2, adviceFor(manager));
}

/** The words before the command: none for root and for brew, sudo where it asks for no password. */
function rights({ asUser }) {
  if (asUser || process.getuid?.() === 0) return [];
  const mayPass = spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0;
  return mayPass ? ["sudo", "-n"] : null;
}

function adviceFor(manager) {
  const install =
    manager === undefined
      ? "install redis-server (7 or newer) or valkey-server"
      : `run \`${manager.asUser ? "" : "sudo "}${manager.command} ${manager.installs[0]}\``;
  return `No Redis was found: ${install}, or set REDIS_URL to one (\`docker compose up -d redis\` starts one at redis://127.0.0.1:6379).`;
}

// --- dist/

function isBuilt() {
  try {
    return fs.readFileSync(STAMP, "utf8") === fingerprint();
  } catch {
    return false;
  }
}

/** Over path, size and time of every source, so that an added or removed file counts as well. */
function fingerprint() {
  const hash = createHash("sha256");
  const roots = [...BUILT, "tsconfig.json", "tsconfig.build.json", "package-lock.json"];
  for (const file of roots.flatMap((name) => filesUnder(name))) {
    const { size, mtimeMs } = fs.statSync(path.join(ROOT, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function filesUnder(name) {
  const stat = fs.statSync(path.join(ROOT, name), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isFile()) return [name];
  return fs
    .readdirSync(path.join(ROOT, name))
    .sort()
    .flatMap((child) => filesUnder(path.join(name, child)));
}

/**
 * Built beside dist/ and then moved in, so that a removed source leaves no file behind and a
 * process started meanwhile finds the old build or the new one. The stamp is taken first: a source
 * saved while the compiler runs makes the next call build again.
 */
function build() {
  const stamp = fingerprint();
  const fresh = path.join(ROOT, `.build-${process.pid}`);
  say("building dist/");
  try {
    const compiler = path.join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const status = run(process.execPath, [
      compiler,
      "-p",
      "tsconfig.build.json",
      "--outDir",
      fresh,
    ]);
    // The compiler emits in spite of type errors, but not when it cannot read its configuration.
    const isUsable = status === 0 || options.has("--with-type-errors");
    if (!isUsable || !fs.existsSync(path.join(fresh, "src"))) {
      fail(1, "the sources do not compile; the errors are above.");
    }
    for (const asset of BUILT.flatMap(filesUnder).filter((file) => ASSET.test(file))) {
      fs.mkdirSync(path.dirname(path.join(fresh, asset)), { recursive: true });
      fs.copyFileSync(path.join(ROOT, asset), path.join(fresh, asset));
    }
    run(process.execPath, [path.join(ROOT, "scripts", "bundle-case-worker.mjs"), fresh]);
    BUILT.forEach((folder) => moveIn(fresh, folder));
    fs.rmSync(STAMP, { force: true });
    // No stamp after errors: the next command without --with-type-errors must see them.
    if (status === 0) fs.writeFileSync(STAMP, stamp);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
}

function moveIn(fresh, folder) {
  const [from, to] = [path.join(fresh, folder), path.join(ROOT, "dist", folder)];
  fs.mkdirSync(path.dirname(to), { recursive: true });
  if (fs.existsSync(to)) fs.renameSync(to, path.join(fresh, `${folder}.old`));
  if (fs.existsSync(from)) fs.renameSync(from, to);
}

// --- plumbing

/** One set-up at a time: two terminals after one edit must not install or build over each other. */
function alone(work) {
  fs.mkdirSync(path.dirname(LOCK), { recursive: true });
  while (!takeLock()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  // On exit rather than in a finally: fail() leaves by process.exit.
  process.once("exit", releaseLock);
  work();
  releaseLock();
  process.off("exit", releaseLock);
}

function takeLock() {
  try {
    fs.writeFileSync(LOCK, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (isAbandoned()) fs.rmSync(LOCK, { force: true });
    return false;
  }
}

function isAbandoned() {
  const stat = fs.statSync(LOCK, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (Date.now() - stat.mtimeMs > LOCK_STALE_MS) return true;
  const owner = Number(fs.readFileSync(LOCK, "utf8"));
  // Between creating and writing the file is empty: its owner lives.
  if (owner === 0) return false;
  try {
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function releaseLock() {
  fs.rmSync(LOCK, { force: true });
}

/** Both streams of the child go to our stderr. */
function run(command, args) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ["ignore", 2, 2],
  });
  if (error !== undefined) say(`${command}: ${error.message}`);
  return status ?? signal ?? "not started";
}

function say(text) {
  fs.writeSync(2, `setup: ${text}\n`);
}

function fail(code, text) {
  say(text);
  process.exit(code);
}
