import { describe, expect, it } from "vitest";
import { readSources } from "../support/source-files.ts";
import { checkImports, graphOf, importsOf } from "./import-rules.ts";

describe("the tree", () => {
  it("imports one way only", () => {
    expect(checkImports(graphOf(readSources(["src", "workers", "scripts"])))).toEqual([]);
  });
});

/** A tree of two files, the first importing the second. */
function edge(from: string, to: string): string[] {
  return checkImports(new Map([[from, [to]], ...(to.endsWith(".ts") ? [[to, []] as const] : [])]));
}

describe("a planted import is found", () => {
  it.each([
    ["of a higher rank", "src/step/step.ts", "src/app/wire.ts", "upwards"],
    ["of a worker by the app", "src/app/wire.ts", "workers/step-worker.ts", "upwards"],
    ["of an agent by a tool", "src/tools/tool.ts", "src/agents/agent.ts", "upwards"],
    ["of anything by the core", "src/core/next.ts", "src/policy/policy.ts", "upwards"],
    ["between siblings of rank 1", "src/tools/tool.ts", "src/policy/policy.ts", "siblings"],
    ["of an adapter by a step", "src/step/step.ts", "src/store/redis-run-store.ts", "adapter"],
    ["of an adapter by a worker", "workers/w.ts", "src/queue/bullmq-step-queue.ts", "adapter"],
    ["of an adapter by the rest of app", "src/app/dev.ts", "src/store/redis-keys.ts", "adapter"],
    [
      "of an adapter by its contract",
      "src/store/run-store.ts",
      "src/store/redis-keys.ts",
      "adapter",
    ],
    ["of another family", "src/store/redis-ledger.ts", "src/store/scripted-ledger.ts", "adapter"],
    ["of a package by the core", "src/core/next.ts", "node:crypto", "browser"],
    ["of a package named like a good one", "src/core/next.ts", "zod-to-ts", "browser"],
    ["of a test", "src/step/step.ts", "test/support/world.ts", "outside"],
    ["of a file beside the package", "scripts/demo.ts", "../elsewhere.ts", "outside"],
    ["of an unranked folder", "src/step/step.ts", "src/misc/thing.ts", "no rank"],
  ])("%s", (_, from, to, words) => {
    expect(edge(from, to).join("\n")).toContain(words);
  });

  it("that closes a cycle, told once", () => {
    const cycle = new Map([
      ["src/core/a.ts", ["src/core/b.ts"]],
      ["src/core/b.ts", ["src/core/c.ts"]],
      ["src/core/c.ts", ["src/core/a.ts"]],
    ]);
    expect(checkImports(cycle)).toEqual([
      "import cycle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts",
    ]);
  });
});

describe("a permitted import is let through", () => {
  it.each([
    ["downwards", "src/step/step.ts", "src/store/run-store.ts"],
    ["within rank 3", "src/cases/run-case.ts", "src/step/step.ts"],
    ["of an adapter by the wiring", "src/app/wire.ts", "src/store/redis-run-store.ts"],
    ["within a family", "src/store/redis-run-store.ts", "src/store/redis-keys.ts"],
    ["of a contract by its adapter", "src/store/redis-run-store.ts", "src/store/run-store.ts"],
    ["of the three packages of the core", "src/core/call-key.ts", "@noble/hashes/sha2.js"],
    ["of any package elsewhere", "src/queue/bullmq-step-queue.ts", "bullmq"],
  ])("%s", (_, from, to) => {
    expect(edge(from, to)).toEqual([]);
  });
});

describe("every spelling of an import is read", () => {
  it.each([
    ["named", `import { a } from "./a.ts";`],
    ["over many lines", `import {\n  // it's a reason\n  a,\n  type B,\n} from './a.ts'`],
    ["of types", `import type { A } from "./a.ts";`],
    ["of everything", `import * as a from "./a.ts";`],
    ["for its effects", `import "./a.ts";`],
    ["passed on", `export { a } from "./a.ts";`],
    ["passed on whole", `export * from "./a.ts";`],
    ["when called", `const load = () => import("./a.ts");`],
    ["as a type", `type A = import("./a.ts").A;`],
    ["after a glob in a string", `const all = "src/**/*.ts";\nimport { a } from "./a.ts";`],
  ])("%s", (_, source) => {
    expect(importsOf("src/core/b.ts", source)).toEqual(["src/core/a.ts"]);
  });

  it("but not one in a comment", () => {
    const source = `/*\nimport "./a.ts";\n*/\n// import("./a.ts")\nexport const from = 1;`;
    expect(importsOf("src/core/b.ts", source)).toEqual([]);
  });
});
