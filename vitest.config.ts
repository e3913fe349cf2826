import { defineConfig } from "vitest/config";

const SECOND_MS = 1_000;

/** One project: the folders of test/ that it runs, and how long one of its tests may take. */
function project(name: string, folders: readonly string[], timeoutMs: number) {
  return {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    testTimeout: timeoutMs,
    hookTimeout: Math.max(timeoutMs, 10 * SECOND_MS),
  };
}

/** Groups run one after another, fast first: timing in real processes is left undisturbed. */
function withRedis(name: string, timeoutMs: number, groupOrder: number) {
  return {
    ...project(name, [name], timeoutMs),
    globalSetup: ["test/support/redis-global-setup.ts"],
    sequence: { groupOrder },
  };
}

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    // While the project is young a folder may still be empty; scripts/test.mjs counts what ran.
    passWithNoTests: true,
    projects: [
      { extends: true, test: project("unit", ["unit", "style"], 5 * SECOND_MS) },
      { extends: true, test: project("property", ["property"], 30 * SECOND_MS) },
      { extends: true, test: withRedis("contract", 15 * SECOND_MS, 1) },
      { extends: true, test: withRedis("integration", 60 * SECOND_MS, 2) },
      // Alone on both cores: these kill processes and measure how soon another takes over.
      {
        extends: true,
        test: { ...withRedis("chaos", 120 * SECOND_MS, 3), fileParallelism: false },
      },
    ],
  },
});
