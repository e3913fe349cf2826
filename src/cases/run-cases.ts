/**
 * Many cases, and one case at every crash point: the first run shows which points are reached,
 * then it runs once more for each with a SIGKILL there, and nothing that a user can see may
 * differ (crash-difference.ts).
 */
import type { AgentPack } from "../agents/agent.ts";
import { messageOf, PawlError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { parseCase, type Case } from "./case.ts";
import { compare, summaryOf, type Failure, type Seen } from "./case-result.ts";
import { crashDifference, type Crash } from "./crash-difference.ts";
import { runCase, type CaseRun, type CaseRunOptions, type Lab } from "./run-case.ts";

export interface CaseFile {
  readonly file: string;
  readonly text: string;
}

export interface CaseResult {
  readonly name: string;
  readonly file: string;
  readonly ok: boolean;
  readonly status: string | null;
  readonly reason: string | null;
  readonly steps: number;
  readonly modelCalls: number;
  readonly handlerCalls: Readonly<Record<string, number>>;
  readonly effects: Readonly<Record<string, number>>;
  readonly facts: Readonly<Record<string, Json>>;
  readonly spend: { readonly tokens: number; readonly moneyMicroUsd: number };
  readonly runId: string | null;
  /** How many runs with a crash were compared with the uninterrupted one. */
  readonly crashes: number;
  readonly failures: readonly Failure[];
  /** The case file itself is wrong (exit 2). */
  readonly invalid: {
    readonly code: string;
    readonly message: string;
    readonly path: string | null;
  } | null;
}

export interface CasesOptions {
  readonly openLab: () => Promise<Lab>;
  readonly packs: ReadonlyMap<string, AgentPack>;
  readonly workers: number;
  readonly policyOf: CaseRunOptions["policyOf"];
  readonly provider: CaseRunOptions["provider"];
  readonly openEndpoint: CaseRunOptions["endpoint"];
  readonly crashEveryPoint: boolean;
  /** Cases at a time. */
  readonly parallel: number;
  readonly onResult: (result: CaseResult) => void;
}

type LaneOptions = CasesOptions & Pick<CaseRunOptions, "endpoint">;

export async function runCases(
  files: readonly CaseFile[],
  given: CasesOptions,
): Promise<CaseResult[]> {
  let opened: ReturnType<CasesOptions["openEndpoint"]> | null = null;
  const options = { ...given, endpoint: () => (opened ??= given.openEndpoint()) };
  try {
    return await runAll(files, options);
  } finally {
    await (await (opened as ReturnType<CasesOptions["openEndpoint"]> | null))?.close();
  }
}

async function runAll(files: readonly CaseFile[], options: LaneOptions): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  const queue = [...files.entries()];
  const lane = async (): Promise<void> => {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const [index, file] = entry;
      const result = await runFile(file, options);
      results[index] = result;
      options.onResult(result);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, lane));
  return results;
}

async function runFile({ file, text }: CaseFile, options: LaneOptions): Promise<CaseResult> {
  let parsed: Case;
  try {
    parsed = parseCase(text);
  } catch (error) {
    return invalid(file, file, error);
  }
  try {
    return await runParsed(file, parsed, options);
  } catch (error) {
    return invalid(parsed.name, file, error, parsed.expect.refused);
  }
}

async function runParsed(file: string, parsed: Case, options: LaneOptions): Promise<CaseResult> {
  const run = await inLab(options, parsed);
  const failures = compare(parsed, run.seen);
  const hasOwnKill = parsed.events.some((event) => event.kill !== undefined);
  let crashes = 0;
  if (options.crashEveryPoint && !hasOwnKill && failures.length === 0) {
    for (const crash of distinct(run.points)) {
      crashes += 1;
      failures.push(...(await crashed(options, parsed, { uninterrupted: run.seen, crash })));
      if (failures.length > 0) break;
    }
  }
  return { ...resultOf(file, parsed, run, failures), crashes };
}

async function crashed(
  options: LaneOptions,
  file: Case,
  { uninterrupted, crash }: { readonly uninterrupted: Seen; readonly crash: Crash },
): Promise<Failure[]> {
  try {
    const { seen } = await inLab(options, file, crash);
    return crashDifference(file, [uninterrupted, seen], crash);
  } catch (error) {
    const path = `/crash/${crash.step}/${crash.point}`;
    return [{ path, want: "the same end", got: messageOf(error) }];
  }
}

async function inLab(
  options: LaneOptions,
  file: Case,
  crash?: CaseRunOptions["crash"],
): Promise<CaseRun> {
  const lab = await options.openLab();
  try {
    const { packs, workers, policyOf, provider, endpoint } = options;
    return await runCase(lab, file, {
      packs,
      workers,
      policyOf,
      provider,
      endpoint,
      ...(crash === undefined ? {} : { crash }),
    });
  } finally {
    await lab.close();
  }
}

function distinct(points: CaseRun["points"]): CaseRun["points"] {
  const seen = new Set<string>();
  return points.filter(({ step, point }) => {
    const key = `${step} ${point}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

function resultOf(
  file: string,
  parsed: Case,
  run: CaseRun,
  failures: readonly Failure[],
): Omit<CaseResult, "crashes"> {
  const { seen } = run;
  const { status, reason, steps, facts, effects } = summaryOf(seen);
  const { tokens, moneyMicroUsd } = seen.state.spent;
  return {
    name: parsed.name,
    file,
    ok: failures.length === 0,
    status,
    reason,
    steps,
    modelCalls: seen.world.modelCalls,
    handlerCalls: seen.world.handlerCalls,
    effects,
    facts,
    spend: { tokens, moneyMicroUsd },
    runId: run.runId,
    failures,
    invalid: null,
  };
}

/**
 * A start that was refused may be what the case expects; else the file is not valid, or the run
 * broke.
 */
function invalid(name: string, file: string, error: unknown, wanted?: string): CaseResult {
  const isOurs = error instanceof PawlError;
  const code = isOurs ? error.code : "internal_error";
  const isWanted =
    wanted !== undefined && (wanted === code || `PAWL_${wanted.toUpperCase()}` === code);
  const message = error instanceof Error ? error.message : "unknown";
  const isBroken = !isOurs || wanted !== undefined;
  return {
    name,
    file,
    ok: isWanted,
    status: null,
    reason: null,
    steps: 0,
    modelCalls: 0,
    handlerCalls: {},
    effects: {},
    facts: {},
    spend: { tokens: 0, moneyMicroUsd: 0 },
    runId: null,
    crashes: 0,
    failures: isWanted
      ? []
      : [{ path: isOurs ? (error.path ?? "/") : "/", want: wanted ?? "a run", got: message }],
    invalid: isWanted || isBroken ? null : { code, message, path: error.path ?? null },
  };
}
