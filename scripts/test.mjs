/**
 * Every check of the project in one command, the quick ones first. The last line printed is
 * `N passed, N failed`, where a check task counts as one and a skipped test counts as failed: a
 * test that did not run proves nothing.
 *
 * --fast (npm run check): no test that needs Redis or starts processes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const FAST_PROJECTS = ["unit", "property"];
const TASKS = [
  { name: "format", command: ["oxfmt/bin/oxfmt", "--check"] },
  { name: "lint", command: ["oxlint/bin/oxlint"] },
  { name: "types", command: ["typescript/bin/tsc", "--noEmit"] },
  { name: "dead code", command: ["knip/bin/knip.js"] },
];

main();

function main() {
  const isFast = process.argv.includes("--fast");
  const counts = [...TASKS.map(runTask), runTests(isFast ? FAST_PROJECTS : [])];
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failures = counts.flatMap((count) => count.failures);
  if (failures.length > 0) console.log(["\nfailed:", ...failures].join("\n  "));
  console.log(`\n${passed} passed, ${failures.length} failed`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function runTask({ name, command }) {
  console.log(`\n── ${name}`);
  return run(command) === 0 ? { passed: 1, failures: [] } : { passed: 0, failures: [name] };
}

/** No project named means all of them. */
function runTests(projects) {
  console.log("\n── tests");
  const dir = mkdtempSync(join(tmpdir(), "pawl-test-"));
  const report = join(dir, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const chosen = projects.map((name) => `--project=${name}`);
    const status = run(["vitest/vitest.mjs", "run", ...reporters, ...chosen]);
    return count(JSON.parse(readFileSync(report, "utf8")), status);
  } catch (error) {
    return { passed: 0, failures: [`the test run left no report: ${error.message}`] };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * A file that fails before its tests (a bad import, a failed hook) and an error outside every test
 * appear in no test's row, so each is counted by itself.
 */
function count({ testResults }, status) {
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, file: relative(ROOT, name) })),
  );
  const bad = tests.filter((test) => test.status !== "passed");
  const broken = testResults.filter(
    (file) =>
      file.status === "failed" && file.assertionResults.every((test) => test.status === "passed"),
  );
  const failures = [
    ...bad.map(({ file, fullName, status: how }) => `${file}: ${fullName} (${how})`),
    ...broken.map((file) => `${relative(ROOT, file.name)}: failed outside its tests`),
  ];
  if (tests.length === 0 && failures.length === 0) failures.push("no test was found");
  if (status !== 0 && failures.length === 0) failures.push("an error outside every test");
  return { passed: tests.length - bad.length, failures };
}

function run([script, ...args]) {
  const command = [join(ROOT, "node_modules", script), ...args];
  return spawnSync(process.execPath, command, { cwd: ROOT, stdio: "inherit" }).status;
}
