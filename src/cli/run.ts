/** `pawl run`: one ticket from acceptance to its end in this process, told as a protocol. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { AgentPack } from "../agents/agent.ts";
import { systemClock } from "../app/clock.ts";
import { readTenants, tenantLimitsOf, type Tenants } from "../app/config-files.ts";
import { readConfig } from "../app/config.ts";
import { followRun } from "../app/follow.ts";
import { followScenario } from "../app/follow-scenario.ts";
import { pricedModels, readLiveModel, type LiveModel } from "../app/live-model.ts";
import { useRedis } from "../app/local-redis.ts";
import { readScenario, scenarioNames, startScenario } from "../app/scenarios.ts";
import { startStepProcess, type StepProcess } from "../app/step-process.ts";
import { agentPacks } from "../app/wire.ts";
import type { Case } from "../cases/case.ts";
import { PawlError } from "../core/errors.ts";
import type { Event } from "../core/event.ts";
import { protocolOf } from "../core/protocol.ts";
import { viewOf } from "../core/run-view.ts";
import type { Ticket } from "../core/ticket.ts";
import { acceptTicket, parseTicket } from "../ingest/accept-ticket.ts";
import { createLogger } from "../telemetry/log.ts";
import { packNamed } from "./agent-flag.ts";
import { EXIT, print, printJson } from "./command.ts";
import { printOutcome, printStep } from "./protocol-view.ts";

interface RunFlags {
  readonly agent: string;
  readonly scenario?: string;
  readonly ticket?: string;
  readonly json?: boolean;
}

export function addRunCommand(program: Command): void {
  program
    .command("run")
    .description("run one ticket here and print its protocol")
    .requiredOption("--agent <name>", "the agent pack")
    .option("--scenario <name>", "a scenario of the pack, with its scripted outside")
    .option("--ticket <file>", "a ticket as JSON, worked on with the configured model")
    .option("--json", "the finished run as one JSON document, as `pawl show` gives it")
    .action(async (flags: RunFlags) => {
      process.exitCode = await run(flags);
    });
}

async function run(flags: RunFlags): Promise<number> {
  const packs = agentPacks();
  const agent = packNamed(packs, flags.agent);
  if ((flags.scenario === undefined) === (flags.ticket === undefined)) {
    const names = scenarioNames(flags.agent).join(", ");
    throw new PawlError("PAWL_USAGE", `give --scenario (${names}) or --ticket FILE`);
  }
  const given = flags.ticket === undefined ? null : await ticketOf(flags.ticket);
  const file = given === null ? readScenario(flags.agent, flags.scenario ?? "") : null;
  const config = readConfig();
  const live = await readLiveModel(config, packs.values());
  const tenants = readTenants(config);
  const start =
    file === null
      ? ticketStart(given, { agent, live, tenants })
      : ({ backbone }: StepProcess) => startScenario(backbone, file, packs, tenants);
  const redis = await useRedis(config.REDIS_URL, "kept");
  let service: StepProcess | null = null;
  try {
    service = await startStepProcess({
      url: redis.url,
      prefix: config.PAWL_PREFIX,
      concurrency: 1,
      logger: createLogger(config.PAWL_LOG_LEVEL ?? "silent", process.stderr),
      tenants,
      live,
    });
    const runId = await start(service);
    return await follow(service, { runId, file }, flags.json === true);
  } finally {
    await service?.stop();
    await redis.stop();
  }
}

/** How a ticket's run begins; throws PAWL_PROVIDER_MISSING where nothing could decide for it. */
function ticketStart(
  ticket: Ticket | null,
  by: {
    readonly agent: AgentPack;
    readonly live: LiveModel | null;
    readonly tenants: Tenants | null;
  },
): (service: StepProcess) => Promise<string> {
  const { agent, live, tenants } = by;
  if (ticket === null || live === null) {
    const message = "set OPENAI_API_KEY to work on a ticket, or run a scenario with --scenario";
    throw new PawlError("PAWL_PROVIDER_MISSING", message, { path: "OPENAI_API_KEY" });
  }
  const tenantLimits = tenantLimitsOf(tenants, ticket);
  const accepted = { agent, ticket, tenantLimits, models: pricedModels(live, agent) };
  const { now, newId } = systemClock;
  return ({ backbone: { store } }) => acceptTicket({ store, now, newId }, accepted);
}

/** The ticket is checked first: a user mends one thing at a time. */
async function ticketOf(path: string): Promise<Ticket> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new PawlError("PAWL_TICKET_INVALID", `cannot read ${path}`, { path, cause });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new PawlError("PAWL_TICKET_INVALID", `${path} is not JSON`, { path });
  }
  return parseTicket(json);
}

async function follow(
  service: StepProcess,
  { runId, file }: { readonly runId: string; readonly file: Case | null },
  asJson: boolean,
): Promise<number> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
  if (!asJson) print(`run ${runId}`);
  let printed = 0;
  const tell = (all: readonly Event[]): void => {
    // A step is saved whole, but for one that waits for its model: it has decided nothing yet.
    const whole = protocolOf(all).filter(
      (row) => row.source !== null || row.tool !== null || row.status !== null,
    );
    for (const row of asJson ? [] : whole.slice(printed)) {
      printStep(row);
      printed += 1;
    }
    tellWait(all.at(-1));
  };
  const tellWait = (last: Event | undefined): void => {
    if (asJson || last?.type !== "parked" || last.for !== "retry") return;
    print(`· waits ${((last.until ?? last.at) - last.at) / 1_000} s for the model`);
  };
  const onPerson = (text: string): void => (asJson ? undefined : print(`· ${text}`));
  const { store } = service.backbone;
  const { events, state, parked } =
    file === null
      ? await followRun(store, runId, tell, stop.signal)
      : await followScenario(
          service.backbone,
          { runId, file, onEvents: tell, onPerson },
          stop.signal,
        );
  const view = viewOf(state, events, { parked });
  if (asJson) printJson(view);
  else {
    printOutcome(view);
    if (state.pending !== null) print(`\nto decide: pawl approve ${state.pending.id} --by NAME`);
    print(`\nmore: pawl show ${runId} · pawl trace ${runId} · pawl replay ${runId}`);
  }
  return view.status === "failed" ? EXIT.failed : EXIT.done;
}
