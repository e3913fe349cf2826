/**
 * Every case file of the repository holds, on real Redis, BullMQ and worker processes, however its
 * model is asked: in the process, or by the real client over either wire. The endpoint refuses what
 * OpenAI would refuse, so each of their requests is one that could have been sent.
 */
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
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

const providers = ["scripted", "chat", "responses"] as const;

describe.each(providers)("asked by %s", (provider) => {
  test.each(folders)("every case in %s holds", { timeout: 300_000 }, async (_folder, files) => {
    const results = await bench.run(files, { provider });
    const failed = results.filter((result) => !result.ok);
    expect(failed.map(({ file, failures, invalid }) => ({ file, failures, invalid }))).toEqual([]);
    expect(results).toHaveLength(files.length);
  });
});
