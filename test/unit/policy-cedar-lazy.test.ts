import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createCedarPolicy } from "../../src/policy/cedar-policy.ts";

const isLoaded = (): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes("cedar_wasm"));

test("the engine is loaded for the first policy text and not before", async () => {
  expect(isLoaded()).toBe(false);
  await createCedarPolicy({ text: "", tools: [] });
  expect(isLoaded()).toBe(true);
});
