/**
 * The case worker as one file: a crash run starts a process for every kill, and most of a start is
 * reading a thousand small modules. Called by setup after the compiler, on the folder it filled.
 */
import fs from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const [dist] = process.argv.slice(2);
const entry = path.join(dist, "workers", "case-worker.js");
const out = path.join(dist, "workers", "case-worker.bundle.mjs");

/** Files beside a module are found by its own place, which bundling would lose. */
const keepPlaces = {
  name: "keep-places",
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]src[\\/].*\.js$/ }, ({ path: file }) => {
      const place = path.relative(path.dirname(out), file).replaceAll("\\", "/");
      const own = `new URL(${JSON.stringify(place)}, import.meta.url).href`;
      const text = fs.readFileSync(file, "utf8").replaceAll("import.meta.url", own);
      return { contents: text, loader: "js" };
    });
  },
};

await build({
  entryPoints: [entry],
  outfile: out,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "error",
  // Loaded by few cases or none, and larger than all the rest: every start would read them. Cedar
  // also reads its .wasm from beside itself.
  external: ["@cedar-policy/*", "@pydantic/genai-prices", "ajv", "gpt-tokenizer", "openai"],
  plugins: [keepPlaces],
  banner: {
    js: `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`,
  },
});
