/**
 * `npm run demo`: the delivery and refund scenarios through two real worker processes on a private
 * Redis with AOF. One worker is killed with SIGKILL in the middle of a run; every run must end as
 * its scenario says. `-- --json` prints one JSON line a run and nothing else. Exit 0 only if all
 * ended as they should.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/app/clock.ts";
import { childEnv } from "../src/app/config.ts";
import { followScenario } from "../src/app/follow-scenario.ts";
import { startPrivateRedis } from "../src/app/private-redis.ts";
import { readScenario, scenarioNames, startScenario } from "../src/app/scenarios.ts";
import { agentPacks, connectBackbone, worldBooks, type Backbone } from "../src/app/wire.ts";
import type { Case } from "../src/cases/case.ts";
import { compare, type Failure } from "../src/cases/case-result.ts";
import { paint, print, printJson } from "../src/cli/command.ts";
import { printRun } from "../src/cli/protocol-view.ts";
import { canonicalJson } from "../src/core/call-key.ts";
import type { Json } from "../src/core/json.ts";
import { replay } from "../src/core/reduce.ts";
import { viewOf } from "../src/core/run-view.ts";

const AGENTS = ["delivery", "refund"];
const PREFIX = "{pawl-demo}";
/** The run in whose third step the worker is killed: its carrier takes 400 ms to answer. */
const VICTIM = "contradicting-data";
const VICTIM_STEP = 2;
/** Questions to Redis, a fraction of a ms each: far longer than a job waits for a free worker. */
const MOST_LOOKS = 20_000;
/** All four scenarios take about two seconds; past this something is stuck. */
const DEADLINE_MS = 60_000;

const asJson = process.argv.includes("--json");
const tell = (line: string): void => {
  if (!asJson) print(line);
};

interface Worker {
  readonly name: string;
  readonly child: ChildProcess;
  readonly id: string;
}

type Line = Readonly<Record<string, string | number | null | undefined>>;

interface Ended {
  readonly scenario: string;
  readonly file: Case;
  readonly runId: string;
  readonly view: ReturnType<typeof viewOf>;
  readonly failures: readonly Failure[];
}

async function main(): Promise<number> {
  const redis = await startPrivateRedis();
  tell(`Redis with AOF on port ${redis.port}, data removed at the end`);
  const backbone = await connectBackbone(redis.url, PREFIX, systemClock);
  const workers = new Set<Worker>();
  const runs = new Map<string, string>();
  let killed = 0;
  let replacing: Promise<void> = Promise.resolve();
  const onLine = async (worker: Worker, line: Line): Promise<void> => {
    const scenario = runs.get(String(line["run"]));
    if (scenario === undefined) return;
    tell(stepLine(worker.name, scenario, line));
    if (killed > 0 || scenario !== VICTIM || line["step"] !== VICTIM_STEP) return;
    killed += 1;
    replacing = replaceHolder(String(line["run"]));
    await replacing;
  };
  const replaceHolder = async (runId: string): Promise<void> => {
    const worker = await holderOf(backbone, runId, workers);
    workers.delete(worker);
    await kill(worker, backbone);
    workers.add(await startWorker("worker 3", redis.url, onLine));
  };
  try {
    workers.add(await startWorker("worker 1", redis.url, onLine));
    workers.add(await startWorker("worker 2", redis.url, onLine));
    const files = new Map<string, Case>();
    for (const agent of AGENTS) {
      for (const scenario of scenarioNames(agent)) {
        const file = readScenario(agent, scenario);
        files.set(scenario, file);
        runs.set(await startScenario(backbone, file, agentPacks()), scenario);
      }
    }
    const followed = [...runs].map(async ([runId, scenario]) => {
      return follow(backbone, { runId, scenario, file: files.get(scenario) as Case });
    });
    const ended = await Promise.all(followed);
    await replacing;
    return report(ended, killed);
  } finally {
    await Promise.all([...workers].map(({ child }) => stop(child)));
    await backbone.close();
    await redis.stop();
  }
}

async function startWorker(
  name: string,
  url: string,
  onLine: (worker: Worker, line: Line) => Promise<void>,
): Promise<Worker> {
  const entry = fileURLToPath(new URL("../dist/workers/step-worker.js", import.meta.url));
  const env = childEnv({ REDIS_URL: url, PAWL_PREFIX: PREFIX, PAWL_LOG_LEVEL: "info" });
  const child = spawn(process.execPath, [entry], { env, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${name} ended while it started (${code})`)));
    let worker: Worker | null = null;
    lines.on("line", (text) => {
      const line = JSON.parse(text) as Line;
      if (worker === null && typeof line["worker"] === "string") {
        worker = { name, child, id: line["worker"] };
        tell(`${name} is ready (pid ${child.pid})`);
        resolve(worker);
      } else if (worker !== null) void onLine(worker, line).catch(fail);
    });
  });
}

/**
 * The worker that has the next step in hand: its lock says so, a few ms after the step was saved.
 */
async function holderOf(
  backbone: Backbone,
  runId: string,
  workers: ReadonlySet<Worker>,
): Promise<Worker> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const run = await backbone.store.read(runId);
    // Its decision is on disk and its carrier has not answered yet: the middle of the step.
    if (run?.journal.some((line) => line.includes('"type":"decided"')) !== true) continue;
    const id = await backbone.queue.holder(runId, VICTIM_STEP + 1);
    const worker = [...workers].find((w) => w.id === id);
    if (worker !== undefined) return worker;
  }
  throw new Error(`nobody took step ${VICTIM_STEP + 1} of ${VICTIM}`);
}

/**
 * SIGKILL: nothing is handed back. Its jobs are taken back at once, not when their locks expire.
 */
async function kill(worker: Worker, backbone: Backbone): Promise<void> {
  const gone = new Promise<void>((resolve) => worker.child.once("exit", () => resolve()));
  worker.child.kill("SIGKILL");
  await gone;
  const back = await backbone.queue.takeBack(worker.id);
  const text = `SIGKILL ${worker.name}, in the middle of step ${VICTIM_STEP + 1} of ${VICTIM}`;
  tell(paint("red", `${text}; ${back} steps go to others`));
}

function stepLine(worker: string, scenario: string, line: Line): string {
  const tool = String(line["tool"] ?? line["error"] ?? "-");
  const verdict = line["verdict"] ?? line["error"] ?? "";
  const what = `${tool} ${String(verdict)}`.padEnd(30);
  const status = `${String(line["status"])}/${String(line["statusReason"] ?? "-")}`;
  return `  ${worker}  ${scenario.padEnd(20)} step ${String(line["step"])}  ${what} ${status}`;
}

async function follow(
  backbone: Backbone,
  { runId, scenario, file }: { runId: string; scenario: string; file: Case },
): Promise<Ended> {
  const late = AbortSignal.timeout(DEADLINE_MS);
  const onPerson = (text: string): void =>
    tell(paint("cyan", `  person    ${scenario.padEnd(20)} ${text}`));
  const followed = { runId, file, onEvents: () => undefined, onPerson };
  const { events, state, parked } = await followScenario(backbone, followed, late);
  const world = await worldBooks(backbone).totals(runId);
  // A killed step may read again and ask the model again; what came of the run may not differ.
  const {
    handlerCalls: _reads,
    modelCalls: _asked,
    paidButLost: _lost,
    spend: _spend,
    ...expect
  } = file.expect;
  const seen = { state, events, world, eventErrors: [], parked };
  const failures = compare({ ...file, expect }, seen);
  const folded = canonicalJson(replay(events) as unknown as Json);
  if (folded !== canonicalJson(state as unknown as Json)) {
    failures.push({ path: "/replay", want: "the saved state", got: "another state" });
  }
  return { scenario, file, runId, view: viewOf(state, events, { parked }), failures };
}

function report(ended: readonly Ended[], killed: number): number {
  const resumes = ended.reduce((sum, { view }) => sum + view.resumes, 0);
  const hasResumed = killed === 1 && resumes > 0;
  for (const run of ended) {
    const { scenario, runId, view, failures } = run;
    const { status, reason, steps } = view;
    const ok = failures.length === 0;
    if (asJson) {
      printJson({
        scenario,
        runId,
        status,
        reason,
        steps: steps.length,
        resumes: view.resumes,
        ok,
        failures,
      });
      continue;
    }
    print(`\n${paint("bold", scenario)}: ${run.file.name}`);
    printRun(view);
    for (const f of failures)
      print(
        paint("red", `  ${f.path}: wanted ${JSON.stringify(f.want)}, got ${JSON.stringify(f.got)}`),
      );
  }
  tell(`\n${"scenario".padEnd(22)}${"ended as".padEnd(40)}steps  resumed  micro-USD  as it should`);
  for (const { scenario, view, failures } of ended) {
    const end = `${view.status}/${view.reason}`;
    const { steps, moneyMicroUsd } = view.budget.spent;
    const columns = [
      String(steps).padEnd(7),
      String(view.resumes).padEnd(9),
      String(moneyMicroUsd).padEnd(11),
    ];
    tell(
      `${scenario.padEnd(22)}${end.padEnd(40)}${columns.join("")}${failures.length === 0 ? "yes" : "NO"}`,
    );
  }
  if (!hasResumed) tell(paint("red", "no run went on after the kill: the demo proved nothing"));
  tell("\nNext: npm run -s pawl -- run --agent delivery --scenario normal-delivery");
  tell(
    "      npm run -s pawl -- case run src/agents/delivery/scenarios/*.json --crash every-point",
  );
  tell("      README.md, docs/writing-an-agent.md");
  return hasResumed && ended.every(({ failures }) => failures.length === 0) ? 0 : 1;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  await gone;
}

function fail(error: unknown): void {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : "failed"}\n`);
  process.exitCode = 1;
}

process.exitCode = await main();
