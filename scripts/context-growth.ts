/**
 * `npm run context [-- --steps N] [--json]`: how a model's context grows with the steps of a run,
 * for the two kinds of context, on the same runs. The runs are real (a private Redis, a worker);
 * at each of their decisions both contexts are built and counted.
 */
import { parseArgs } from "node:util";
import { counting, runQuietly } from "../src/app/measured-runs.ts";
import { startPrivateRedis } from "../src/app/private-redis.ts";
import { startStepProcess } from "../src/app/step-process.ts";
import { worldBooks } from "../src/app/wire.ts";
import { parseCase, type Case } from "../src/cases/case.ts";
import { scriptedAgent } from "../src/cases/case-mind.ts";
import { createWorld } from "../src/cases/world.ts";
import type { AgentSpec } from "../src/core/agent-spec.ts";
import { measureRun } from "../src/core/measure.ts";
import { createLogger } from "../src/telemetry/log.ts";

const { values } = parseArgs({
  options: { steps: { type: "string", default: "96" }, json: { type: "boolean", default: false } },
});
const STEPS = Number(values.steps);
const SHOWN_STEPS = [1, 2, 4, 8, 16, 32, 64, 80, 128];

/** Reads one article after the other, about 1 KB each, and hands the ticket over. */
function longCase(steps: number): Case {
  const text = (page: number): string =>
    Array.from({ length: 30 }, (_, i) => `line ${i} of page ${page} says what to do`).join("; ");
  const pages = Array.from({ length: steps - 1 }, (_, i) => i + 1);
  return parseCase(
    JSON.stringify({
      name: "reads page after page",
      agent: {
        name: "reader",
        instructions: "Find the page that answers the ticket.",
        tools: [
          {
            name: "get_page",
            effect: "read",
            description: "Reads one page of the handbook.",
            input: {
              type: "object",
              properties: { page: { type: "integer" } },
              required: ["page"],
            },
            facts: { "page.title": "/title" },
            about: { page: "/page" },
          },
        ],
        terminals: ["answer_user", "request_handoff"],
      },
      ticket: { id: "T-1", subject: "A question", body: "Where is it said?" },
      limits: { steps, stepsWithoutProgress: null, timeMs: null },
      tools: {
        get_page: pages.map((page) => ({
          when: { page },
          result: { page, title: `Page ${page}`, text: text(page) },
        })),
      },
      replies: [
        ...pages.map((page) => ({
          call: {
            tool: "get_page",
            args: { page },
            reason: "The answer may stand on this page",
            expected: { about: { page }, fields: [{ pointer: "/title", check: "exists" }] },
          },
        })),
        { call: { tool: "request_handoff", args: { summary: "It is on none of these pages." } } },
      ],
    }),
  );
}

const redis = await startPrivateRedis();
const service = await startStepProcess({
  url: redis.url,
  prefix: "{pawl-context}",
  concurrency: 4,
  logger: createLogger("silent"),
  tenants: null,
  live: null,
});
try {
  const { backbone } = service;
  const file = longCase(STEPS);
  const { events, state } = await runQuietly(backbone, file, new Map());
  if (state.reason !== "requested")
    throw new Error(`the run ended ${state.status}/${state.reason}`);
  const agent = scriptedAgent(createWorld(file, worldBooks(backbone)), new Map());
  const counted = await counting(false);
  const inputs = (as: AgentSpec["context"]): number[] =>
    measureRun(events, agent, { ...counted, as }).map((call) => call.input);
  tell(inputs("state"), inputs("transcript"));
} finally {
  await service.stop();
  await redis.stop();
}

function tell(state: readonly number[], transcript: readonly number[]): void {
  const sum = (numbers: readonly number[], to: number): number =>
    numbers.slice(0, to).reduce((all, n) => all + n, 0);
  const steps = state.map((_, i) => i + 1).filter((n) => SHOWN_STEPS.includes(n) || n === STEPS);
  const rows = steps.map((step) => ({
    step,
    state: state[step - 1] ?? 0,
    transcript: transcript[step - 1] ?? 0,
    stateInAll: sum(state, step),
    transcriptInAll: sum(transcript, step),
  }));
  if (values.json) {
    for (const row of rows) console.log(JSON.stringify(row));
    return;
  }
  console.log("| step | RunState context | transcript | RunState, in all | transcript, in all |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const row of rows) console.log(`| ${Object.values(row).map(grouped).join(" | ")} |`);
}

function grouped(n: number): string {
  return n.toLocaleString("en-US");
}
