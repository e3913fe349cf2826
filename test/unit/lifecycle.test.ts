/** The lifecycle is written three times: this keeps the header, the table and the docs equal. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { REASONS, TERMINAL_STATUSES } from "../../src/core/stop.ts";

const source = readFileSync("src/core/stop.ts", "utf8");
const page = readFileSync("docs/lifecycle.md", "utf8");

function statusesIn(diagram: string): string[] {
  return [...diagram.matchAll(/[a-z_]+/g)].map(([word]) => word);
}

function diagramOf(text: string): string {
  return /queued → running[^`/]*failed/s.exec(text)?.[0] ?? "";
}

test("the header of stop.ts names every status of its table, in its order", () => {
  expect(statusesIn(diagramOf(source)).slice(3)).toEqual(TERMINAL_STATUSES);
});

test("the diagram in the docs is the header's", () => {
  expect(statusesIn(diagramOf(page))).toEqual(statusesIn(diagramOf(source)));
});

test.each(TERMINAL_STATUSES)("the docs give the reasons of %s as the table does", (status) => {
  const row = new RegExp(`^\\| ${status} \\| (.*) \\|$`, "m").exec(page)?.[1] ?? "";
  expect([...row.matchAll(/`([a-z_]+)`/g)].map((m) => m[1])).toEqual([...REASONS[status]]);
});
