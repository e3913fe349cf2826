import { describe, expect, it } from "vitest";
import { readSources } from "../support/source-files.ts";
import { checkStyle, RULES } from "./style-rules.ts";

describe("the sources", () => {
  it("keep the house style", () => {
    expect(checkStyle(readSources(["src", "workers", "scripts", "test"]))).toEqual([]);
  });
});

type RuleName = keyof typeof RULES;

function breaches(rule: RuleName, file: string, source: string): string[] {
  return RULES[rule](file, source);
}

type Plant = readonly [RuleName, file: string, source: string];

function titled([rule, file, source]: Plant): [string, ...Plant] {
  return [`${rule} in ${file}: ${JSON.stringify(source).slice(0, 60)}`, rule, file, source];
}

const LONG = "x".repeat(101);

describe("a planted fault is found", () => {
  const faults: Plant[] = [
    ["length", "src/step/step.ts", "a\n".repeat(301)],
    ["length", "scripts/demo.ts", "a\n".repeat(301)],
    ["width", "src/step/step.ts", `const ${LONG} = 1;`],
    ["width", "src/step/step.ts", `// ${LONG}`],
    ["width", "test/unit/step.test.ts", `const short = "a"; ${LONG}`],
    ["exports", "src/step/step.ts", "export default 1;"],
    ["exports", "workers/step-worker.ts", "export { a as default };"],
    ["purity", "src/core/next.ts", "const now = Date.now();"],
    ["purity", "src/core/next.ts", "const now = new Date();"],
    ["purity", "src/core/next.ts", "const dice = Math.random();"],
    ["purity", "src/core/next.ts", "const id = crypto.randomUUID();"],
    ["purity", "src/core/next.ts", "const { pid } = process.versions;"],
    ["purity", "src/core/next.ts", "const text = `${Date.now()}`;"],
    ["purity", "src/core/next.ts", "export async function next() {}"],
    ["environment", "src/app/wire.ts", "const url = process.env.REDIS_URL;"],
    ["environment", "workers/step-worker.ts", 'const url = process.env["REDIS_URL"];'],
    ["environment", "src/app/wire.ts", "const { env } = process;"],
    ["environment", "src/app/wire.ts", 'import { env } from "node:process";'],
    ["sleeping", "test/unit/a.test.ts", "await new Promise((f) => setTimeout(f, 50));"],
    ["sleeping", "test/chaos/a.test.ts", "await sleep(50);"],
    ["names", "src/step/utils.ts", ""],
    ["names", "src/utils/text.ts", ""],
    ["names", "src/common/text.ts", ""],
    ["names", "src/step/types.ts", ""],
    ["names", "src/step/step-helpers.ts", ""],
    ["names", "src/queue/queue-manager.ts", ""],
    ["names", "src/queue/ticket-service.ts", ""],
    ["names", "test/support/helper.ts", ""],
  ];
  it.each(faults.map(titled))("%s", (_, rule, file, source) => {
    expect(breaches(rule, file, source)).toHaveLength(1);
  });
});

describe("what a rule does not mean is let through", () => {
  const fine: Plant[] = [
    ["length", "src/step/step.ts", "a\n".repeat(300)],
    ["length", "test/unit/step.test.ts", "a\n".repeat(301)],
    ["width", "src/step/step.ts", `throw new Error("${LONG}");`],
    ["width", "src/step/step.ts", `const text = \`\n${LONG} \${1}\n\`;`],
    ["width", "src/step/step.ts", `// https://example.test/${LONG}`],
    ["exports", "vitest.config.ts", "export default 1;"],
    ["purity", "src/core/next.ts", "// not Date.now(): replay would differ"],
    ["purity", "src/core/next.ts", 'const text = "await process.exit";'],
    ["purity", "src/core/next.ts", "const at = subprocess.pid + reprocess.x;"],
    ["purity", "src/app/clock.ts", "export const now = () => Date.now();"],
    ["environment", "src/app/config.ts", "const url = process.env.REDIS_URL;"],
    ["environment", "scripts/setup.mjs", "const url = process.env.REDIS_URL;"],
    ["sleeping", "test/support/wait-for.ts", "setTimeout(f, 50);"],
    ["names", "src/core/event.ts", ""],
    ["names", "src/core/datatype.ts", ""],
  ];
  it.each(fine.map(titled))("%s", (_, rule, file, source) => {
    expect(breaches(rule, file, source)).toEqual([]);
  });
});
