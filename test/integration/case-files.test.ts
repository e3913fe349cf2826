/** Every case file of the repository holds, on real Redis, BullMQ and worker processes. */
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { caseFiles, openCaseBench } from "../support/case-files.ts";

const folders = groups();
const bench = openCaseBench();

function groups(): [string, string[]][] {
  const byFolder = new Map<string, string[]>();
  for (const file of caseFiles()) {
    const folder = dirname(file);
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), file]);
  }
  return [...byFolder];
}

test.each(folders)("every case in %s holds", { timeout: 300_000 }, async (_folder, files) => {
  const results = await bench.run(files);
  const failed = results.filter((result) => !result.ok);
  expect(failed.map(({ file, failures, invalid }) => ({ file, failures, invalid }))).toEqual([]);
  expect(results).toHaveLength(files.length);
});
