/**
 * Runs of an agent to estimate from: those that ended in this installation, else the pack's own
 * scenarios, run here and now under a prefix of their own that is removed afterwards.
 */
import type { AgentPack } from "../agents/agent.ts";
import type { Case } from "../cases/case.ts";
import { SCRIPTED } from "../cases/case-mind.ts";
import { parseEvent } from "../core/event.ts";
import { measureRun, type Counting, type MeasuredCall } from "../core/measure.ts";
import { PawlError } from "../core/errors.ts";
import { parseRunState } from "../core/run-state.ts";
import { isTerminal } from "../core/stop.ts";
import { countContext, loadTokenizer } from "../providers/tokens.ts";
import type { StoredRun } from "../store/run-store.ts";
import { createLogger } from "../telemetry/log.ts";
import { systemClock } from "./clock.ts";
import type { Followed } from "./follow.ts";
import { followScenario } from "./follow-scenario.ts";
import { removeKeys } from "./remove-keys.ts";
import { readScenario, scenarioNames, startScenario } from "./scenarios.ts";
import { startStepProcess } from "./step-process.ts";
import type { Backbone } from "./wire.ts";

export interface MeasuredRuns {
  readonly from: "runs" | "scenarios";
  /** Those whose model said what it used; the contexts of the others were counted anew. */
  readonly real: number;
  readonly runs: readonly (readonly MeasuredCall[])[];
}

/** Takes the newest `most` runs at most. */
export async function measureRuns(
  backbone: Backbone,
  pack: AgentPack,
  { url, most }: { readonly url: string; readonly most: number },
): Promise<MeasuredRuns> {
  const stored = await backbone.store.list({ agent: pack.name, limit: most });
  const runs: MeasuredCall[][] = [];
  let real = 0;
  for (const run of stored) {
    const version = endedVersion(run);
    if (version === null) continue;
    const isReal = !version.endsWith(SCRIPTED);
    const events = (await backbone.store.events(run.id)).map(parseEvent);
    const calls = measureRun(events, pack, await counting(isReal));
    if (calls.length === 0) continue;
    runs.push(calls);
    if (isReal) real += 1;
  }
  return runs.length === 0 ? measureScenarios(pack, url) : { from: "runs", real, runs };
}

/** The agent's version of an ended run; null: under way, or a snapshot that cannot be read. */
function endedVersion(run: StoredRun): string | null {
  try {
    const { status, agent } = parseRunState(run.json);
    return run.parked || !isTerminal(status) ? null : agent.version;
  } catch (error) {
    if (error instanceof PawlError) return null;
    throw error;
  }
}

async function measureScenarios(pack: AgentPack, url: string): Promise<MeasuredRuns> {
  const prefix = `{pawl-estimate-${systemClock.newId()}}`;
  const logger = createLogger("silent");
  const service = await startStepProcess({
    url,
    prefix,
    concurrency: 4,
    logger,
    tenants: null,
    live: null,
  });
  try {
    const names = scenarioNames(pack.name);
    const packs = new Map([[pack.name, pack]]);
    const files = names.map((name) => readScenario(pack.name, name));
    const runs = await Promise.all(files.map((file) => runQuietly(service.backbone, file, packs)));
    const by = await counting(false);
    return {
      from: "scenarios",
      real: 0,
      runs: runs
        .map(({ events }) => measureRun(events, pack, by))
        .filter((calls) => calls.length > 0),
    };
  } finally {
    await service.worker.close(0);
    await removeKeys(service.backbone.redis, prefix);
    await service.backbone.close();
  }
}

/** Runs a case's ticket to its end, or to a wait that nobody in it answers; tells nobody. */
export async function runQuietly(
  backbone: Backbone,
  file: Case,
  packs: ReadonlyMap<string, AgentPack>,
): Promise<Followed> {
  const runId = await startScenario(backbone, file, packs);
  const silent = { onEvents: () => undefined, onPerson: () => undefined };
  const { signal } = new AbortController();
  return followScenario(backbone, { runId, file, ...silent }, signal);
}

export async function counting(isUsageReal: boolean): Promise<Counting> {
  const text = await loadTokenizer();
  return { text, context: (context) => countContext(context, text), isUsageReal };
}
