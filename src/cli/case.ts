/** `pawl case run FILE…` and `pawl case schema`. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { z } from "zod";
import { openLab } from "../app/case-lab.ts";
import { readConfig } from "../app/config.ts";
import { useRedis } from "../app/local-redis.ts";
import { agentPacks, openCaseEndpoint, policyOfCase } from "../app/wire.ts";
import { createWorkerPool } from "../app/worker-pool.ts";
import { caseSchema } from "../cases/case.ts";
import { runCases, type CaseFile, type CaseResult } from "../cases/run-cases.ts";
import { PawlError } from "../core/errors.ts";
import { EXIT, paint, print, printJson } from "./command.ts";

interface CaseRunFlags {
  readonly provider: string;
  readonly workers: string;
  readonly crash?: string;
  readonly json?: boolean;
}

const PROVIDERS = ["scripted", "chat", "responses"] as const;

/** Two cores: one case's workers and runner wait for each other most of the time. */
const CASES_AT_A_TIME = 3;

export function addCaseCommands(program: Command): void {
  const command = program.command("case").description("run case files, print their schema");
  command
    .command("run <file...>")
    .description("run cases on real Redis with real worker processes")
    .option("--provider <name>", "scripted, chat or responses", "scripted")
    .option("--workers <n>", "worker processes a case", "1")
    .option("--crash <where>", "every-point: once more with a SIGKILL at each point of each step")
    .option("--json", "one JSON line a case")
    .action(async (files: string[], flags: CaseRunFlags) => {
      process.exitCode = await runCaseFiles(files, flags);
    });
  command
    .command("schema")
    .description("the case format as JSON Schema")
    .option("--json", "as the default: JSON")
    .action(() => printJson(z.toJSONSchema(caseSchema, { io: "input", unrepresentable: "any" })));
}

async function runCaseFiles(paths: readonly string[], flags: CaseRunFlags): Promise<number> {
  const provider = PROVIDERS.find((name) => name === flags.provider);
  if (provider === undefined) {
    throw new PawlError("PAWL_USAGE", `--provider takes ${PROVIDERS.join(", ")}`);
  }
  if (flags.crash !== undefined && flags.crash !== "every-point") {
    throw new PawlError("PAWL_USAGE", "--crash takes every-point");
  }
  const workers = Number(flags.workers);
  if (!Number.isInteger(workers) || workers < 1 || workers > 16) {
    throw new PawlError("PAWL_USAGE", "--workers takes a whole number from 1 to 16");
  }
  const files = await Promise.all(paths.map(readCaseFile));
  const redis = await useRedis(readConfig().REDIS_URL, "throwaway");
  const pool = createWorkerPool(2);
  try {
    const results = await runCases(files, {
      openLab: () => openLab(redis.url, pool),
      packs: agentPacks(),
      policyOf: policyOfCase,
      provider,
      openEndpoint: openCaseEndpoint,
      workers,
      crashEveryPoint: flags.crash === "every-point",
      parallel: CASES_AT_A_TIME,
      onResult: (result) => (flags.json === true ? printResultJson(result) : printResult(result)),
    });
    if (flags.json !== true) printTotals(results);
    if (results.some((result) => result.invalid !== null)) return EXIT.usage;
    return results.every((result) => result.ok) ? EXIT.done : EXIT.failed;
  } finally {
    await pool.close();
    await redis.stop();
  }
}

async function readCaseFile(path: string): Promise<CaseFile> {
  try {
    return { file: path, text: await readFile(path, "utf8") };
  } catch (cause) {
    throw new PawlError("PAWL_CASE_INVALID", `cannot read ${path}`, { path, cause });
  }
}

function printResultJson(result: CaseResult): void {
  const { invalid, ...line } = result;
  printJson(invalid === null ? line : { ...line, error: invalid });
}

function printResult(result: CaseResult): void {
  const { ok, name, file, failures, crashes, invalid } = result;
  const crashed = crashes > 0 ? ` (${crashes} crashes)` : "";
  print(`${ok ? paint("green", "ok") : paint("red", "FAIL")} ${name}${crashed}`);
  if (ok) return;
  print(`     ${file}${invalid === null ? "" : ` is not valid: ${invalid.code}`}`);
  for (const failure of failures) {
    const want = JSON.stringify(failure.want);
    print(`     ${failure.path}: wanted ${want}, got ${JSON.stringify(failure.got)}`);
  }
}

function printTotals(results: readonly CaseResult[]): void {
  const passed = results.filter((result) => result.ok).length;
  const crashes = results.reduce((sum, result) => sum + result.crashes, 0);
  const killed = crashes > 0 ? `, ${crashes} workers killed` : "";
  print(`${passed} passed, ${results.length - passed} failed${killed}`);
}
