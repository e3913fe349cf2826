/**
 * The promise of the project, on real Redis and real worker processes: SIGKILL at each crash point
 * of each step changes nothing that a user can see. The files here cover each way a step can go.
 */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, expect, inject, test } from "vitest";
import { openLab } from "../../src/app/case-lab.ts";
import { agentPacks, policyOfCase } from "../../src/app/wire.ts";
import { createWorkerPool } from "../../src/app/worker-pool.ts";
import { runCases } from "../../src/cases/run-cases.ts";

const SCENARIOS = "src/agents/delivery/scenarios";
const files = readdirSync(SCENARIOS)
  .filter((name) => name.endsWith(".json"))
  .map((name) => `${SCENARIOS}/${name}`);

const pool = createWorkerPool(2);
afterAll(() => pool.close());

test.each(files)("%s ends the same with a worker killed at every point", async (file) => {
  const [result] = await runCases([{ file, text: readFileSync(file, "utf8") }], {
    openLab: () => openLab(inject("redisUrl"), pool),
    packs: agentPacks(),
    policyOf: policyOfCase,
    workers: 1,
    crashEveryPoint: true,
    parallel: 1,
    onResult: () => undefined,
  });
  expect(result?.failures).toEqual([]);
  // Nine points a step that acts; a step that only parks or ends has them too.
  expect(result?.crashes).toBeGreaterThanOrEqual(9 * ((result?.steps ?? 0) - 1));
});
