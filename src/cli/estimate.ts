/** `pawl estimate`: what an agent's runs would cost on a model, before anybody pays for one. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { readConfig } from "../app/config.ts";
import { useRedis } from "../app/local-redis.ts";
import { priceReader } from "../app/model-price.ts";
import { measureRuns, type MeasuredRuns } from "../app/measured-runs.ts";
import { agentPacks, connectBackbone } from "../app/wire.ts";
import { PawlError } from "../core/errors.ts";
import { estimateCost, type Estimate, type Spread } from "../core/estimate.ts";
import type { Price } from "../core/price.ts";
import { EXIT, print, printJson } from "./command.ts";
import { packNamed } from "./agent-flag.ts";
import { wholeNumber } from "./saved-run.ts";
import { moneyText } from "./table.ts";

interface EstimateFlags {
  readonly agent: string;
  readonly model: string;
  readonly runs: string;
  readonly json?: boolean;
}

const MOST_RUNS = 10_000;

export function addEstimateCommand(program: Command): void {
  program
    .command("estimate")
    .description("what an agent's runs would cost on a model, from runs that were measured")
    .requiredOption("--agent <name>", "the agent pack")
    .requiredOption("--model <name>", "the model to price")
    .option("--runs <n>", "the newest runs to measure, at most", "200")
    .option("--json", "one JSON document; money in micro-USD")
    .action(async (flags: EstimateFlags) => {
      process.exitCode = await estimate(flags);
    });
}

async function estimate(flags: EstimateFlags): Promise<number> {
  const most = wholeNumber("--runs", flags.runs, 1, MOST_RUNS);
  const pack = packNamed(agentPacks(), flags.agent);
  const config = readConfig();
  const { price, source } = await priceFor(flags.model, config);
  const redis = await useRedis(config.REDIS_URL, "kept");
  const backbone = await connectBackbone(redis.url, config.PAWL_PREFIX, systemClock);
  let measured: MeasuredRuns;
  try {
    measured = await measureRuns(backbone, pack, { url: redis.url, most });
  } finally {
    await backbone.close();
    await redis.stop();
  }
  if (measured.runs.length === 0) {
    const message = `no run of ${pack.name} asked a model, and it has no scenario that does`;
    throw new PawlError("PAWL_RUN_NOT_FOUND", message);
  }
  const found = estimateCost(measured.runs, price, pack.limits);
  const { from, real } = measured;
  const { agent, model } = flags;
  if (flags.json === true) printJson({ agent, model, price, source, from, real, ...found });
  else tell({ agent, model, source, from, real }, found);
  return EXIT.done;
}

async function priceFor(model: string, config: ReturnType<typeof readConfig>) {
  const answer = await priceReader(config)(model);
  if (answer.known) return answer as { readonly price: Price; readonly source: string };
  throw new PawlError("PAWL_PRICE_UNKNOWN", answer.why, { path: "--model" });
}

interface Told {
  readonly agent: string;
  readonly model: string;
  readonly source: string;
  readonly from: MeasuredRuns["from"];
  readonly real: number;
}

const LABEL_WIDTH = 24;
const NUMBER_WIDTH = 12;

function tell({ agent, model, source, from, real }: Told, found: Estimate): void {
  const label = (text: string): string => text.padEnd(LABEL_WIDTH);
  const row = (name: string, spread: Spread, text: (n: number) => string): string =>
    label(name) +
    [spread.mean, spread.p95, spread.most].map((n) => text(n).padStart(NUMBER_WIDTH)).join("");
  const tokens = (n: number): string => Math.round(n).toLocaleString("en-US");
  const money = (n: number): string => moneyText(Math.round(n));
  print(`${agent} on ${model} (${source})`);
  print(label("") + ["mean", "p95", "most"].map((head) => head.padStart(NUMBER_WIDTH)).join(""));
  print(row("model calls a run", found.callsPerRun, (n) => n.toFixed(1)));
  print(row("input tokens a call", found.inputPerCall, tokens));
  print(row("output tokens a call", found.outputPerCall, tokens));
  print(row("cost of a run", found.costPerRun, money));
  const thousand = (n: number): string => `$${(n / 1_000).toFixed(2)}`;
  const range =
    found.meanRange === null
      ? ""
      : ` (95 %: ${thousand(found.meanRange.low)} to ${thousand(found.meanRange.high)})`;
  print(label("1,000 tickets") + thousand(found.costPerRun.mean) + range);
  print(label("worst case of a run") + worstText(found));
  print(label("how sure") + sureText(found, from, real));
}

function worstText({ worst }: Estimate): string {
  const { microUsd, by, calls, attempts, inputPerCall, outputPerCall } = worst;
  if (microUsd === null) return "unbounded: the agent has no limit of steps, tokens or money";
  const why = {
    money: "its money limit",
    tokens: "its token limit, all at the dearest rate",
    steps: `${calls} calls × ${attempts} attempts × (${inputPerCall} in + ${outputPerCall} out)`,
  };
  return `${moneyText(microUsd)}: ${why[by ?? "steps"]}`;
}

function sureText({ sure, runs }: Estimate, from: MeasuredRuns["from"], real: number): string {
  const what =
    from === "scenarios" ? "scenarios of the pack, run just now" : "runs that ended here";
  const counted =
    real === runs
      ? "all with the usage that their model told"
      : `${real} with the usage that their model told, the contexts of the others counted`;
  const more = sure === "good" ? "" : "; measure more real tickets to know better";
  return `${sure}: ${runs} ${what}, ${counted}; cached input priced as plain${more}`;
}
