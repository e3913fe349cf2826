/** The case files of the repository, and how a test runs them: on real workers, one pool a file. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, inject } from "vitest";
import { openLab } from "../../src/app/case-lab.ts";
import { agentPacks, openCaseEndpoint, policyOfCase } from "../../src/app/wire.ts";
import { createWorkerPool } from "../../src/app/worker-pool.ts";
import type { CaseProvider } from "../../src/cases/world.ts";
import { runCases, type CaseResult } from "../../src/cases/run-cases.ts";

const FOLDERS = ["cases", "src/agents/delivery/scenarios", "src/agents/refund/scenarios"];

/** Every case file by its path from the repository's root. */
export function caseFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json"))
      .map((name) => `${folder}/${name}`),
  ).toSorted();
}

export interface CaseBench {
  readonly run: (
    files: readonly string[],
    options?: { readonly crashEveryPoint?: boolean; readonly provider?: CaseProvider },
  ) => Promise<CaseResult[]>;
}

const CASES_AT_A_TIME = 3;

/** To be called once at the top of a test file. */
export function openCaseBench(): CaseBench {
  const pool = createWorkerPool(2);
  afterAll(() => pool.close());
  return {
    run: (files, { crashEveryPoint = false, provider = "scripted" } = {}) =>
      runCases(
        files.map((file) => ({ file, text: readFileSync(file, "utf8") })),
        {
          openLab: () => openLab(inject("redisUrl"), pool),
          packs: agentPacks(),
          policyOf: policyOfCase,
          provider,
          openEndpoint: openCaseEndpoint,
          workers: 1,
          crashEveryPoint,
          parallel: CASES_AT_A_TIME,
          onResult: () => undefined,
        },
      ),
  };
}
