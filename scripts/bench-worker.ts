/**
 * A benchmark worker process. `pawl`: the real step pipeline with a no-op model and a no-op tool.
 * `floor`: the naive, unsafe chain (GET state, no-op, SET state, add next, done). `bare`: the job
 * only adds the next one. The outside is the same for all three: nothing.
 */
import { Worker, Queue, type Job } from "bullmq";
import { z } from "zod";
import { defineAgent } from "../src/agents/agent.ts";
import { systemClock } from "../src/app/clock.ts";
import { connectBackbone, connectRedis, startWorker } from "../src/app/wire.ts";
import { NO_USAGE } from "../src/core/decision.ts";
import type { Provider } from "../src/providers/provider.ts";
import { defineTool } from "../src/tools/tool.ts";
import { BENCH_AGENT, PADDING, STEPS, type BenchJob, type Flavour } from "./bench-workload.ts";

const [flavour, url, prefix, concurrency] = process.argv.slice(2) as [
  Flavour,
  string,
  string,
  string,
];

const read = defineTool({
  name: "get_page",
  effect: "read",
  description: "A page of about 1 KB.",
  input: z.strictObject({ page: z.int() }),
  facts: { "page.number": "/page" },
  about: { page: "/page" },
  handler: ({ page }) => Promise.resolve({ page, text: PADDING }),
});

/** A decision of about 300 bytes; the last of the six is the answer. */
const provider: Provider = {
  model: "none",
  price: null,
  countInput: () => ({ tokens: 0, isMetered: false }),
  decide: ({ turn }) => {
    const page = turn + 1;
    const work = {
      tool: "get_page",
      args: { json: { page } },
      reason: "The next page may hold the passage that the customer asks for in this ticket",
      expected: { about: { page }, fields: [{ pointer: "/page", check: "equals", value: page }] },
    };
    const answer = {
      tool: "answer_user",
      args: { json: { message: "Done." } },
      reason: "",
      expected: null,
    };
    const calls = [turn + 1 < STEPS ? work : answer];
    return Promise.resolve({ finish: "tool_calls", text: null, calls, usage: NO_USAGE });
  },
};

async function pawl(): Promise<void> {
  const backbone = await connectBackbone(url, prefix, systemClock);
  const agent = defineAgent({ ...BENCH_AGENT, tools: [read] });
  const log = {
    step: () => undefined,
    fault: (_job: unknown, error: unknown) => console.error(error),
  };
  const mind = { agent, provider };
  const worker = startWorker(
    backbone,
    systemClock,
    { resolve: () => Promise.resolve(mind), log },
    { concurrency: Number(concurrency) },
  );
  await worker.ready();
}

async function chain(withState: boolean): Promise<void> {
  const redis = connectRedis(url);
  await redis.connect();
  const queue = new Queue<BenchJob>("steps", { connection: redis, prefix });
  const worker = new Worker<BenchJob>(
    "steps",
    async (job: Job<BenchJob>) => {
      const { run, step } = job.data;
      const key = `${prefix}:state:${run}`;
      if (withState) {
        const state = JSON.parse((await redis.get(key)) ?? "{}") as { steps: number };
        state.steps = step;
        await redis.set(key, JSON.stringify(state));
      }
      if (step >= STEPS) await redis.incr(`${prefix}:done`);
      else {
        const next = { run, step: step + 1 };
        await queue.add("step", next, { removeOnComplete: true, removeOnFail: true });
      }
    },
    { connection: redis, prefix, concurrency: Number(concurrency) },
  );
  await worker.waitUntilReady();
}

await (flavour === "pawl" ? pawl() : chain(flavour === "floor"));
process.send?.("ready");
process.on("message", () => process.send?.({ rssMb: Math.round(process.memoryUsage().rss / 1e6) }));
