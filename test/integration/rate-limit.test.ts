/**
 * Two hundred runs against a server that refuses everything for ten seconds: its gate holds them
 * back without workers, and none of them fails. Over a real socket, by the real client.
 */
import { expect, test } from "vitest";
import { createOpenAiProvider } from "../../src/providers/openai-provider.ts";
import { openCrew } from "../support/crew.ts";
import { PRICE } from "../support/price.ts";
import { until } from "../support/until.ts";
import { openEndpoint } from "../support/wire-endpoint.ts";

const RUNS = 200;
const SLOTS = 20;
const LIMITED_MS = 10_000;
const RETRY_AFTER_S = 2;
/** A request that had left when the gate closed arrives within this; far below the delay. */
const IN_FLIGHT_MS = 1_000;

const ANSWER = {
  status: "completed",
  output: [
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "answer_user",
      arguments: '{"message":"Done.","claims":[]}',
    },
  ],
  usage: { input_tokens: 100, output_tokens: 10 },
};

test("a rate limit slows all runs of its model, holds no worker, and fails none", async () => {
  const arrivals: { readonly at: number; readonly isRefused: boolean }[] = [];
  let firstAt: number | null = null;
  const endpoint = await openEndpoint(() => {
    const at = performance.now();
    firstAt ??= at;
    const isRefused = at - firstAt < LIMITED_MS;
    arrivals.push({ at, isRefused });
    if (!isRefused) return { body: ANSWER };
    const headers = { "retry-after": String(RETRY_AFTER_S) };
    return { status: 429, headers, body: { error: { code: "rate_limit_exceeded" } } };
  });
  const provider = createOpenAiProvider({
    api: "responses",
    apiKey: "sk-test",
    baseUrl: endpoint.url,
    model: "m",
    price: PRICE,
    serviceTier: "default",
    now: Date.now,
  });
  const crew = await openCrew(provider);
  await crew.hire({ concurrency: SLOTS });
  const runIds = await Promise.all(Array.from({ length: RUNS }, (_, i) => crew.accept(`T-${i}`)));
  const active = (): Promise<number> => crew.redis.llen(crew.queueKey("active"));
  const delayed = (): Promise<number> => crew.redis.zcard(crew.queueKey("delayed"));

  // Every run is put off before the first delay is over, and nobody works on any of them.
  await until(async () => (await delayed()) === RUNS && (await active()) === 0);

  const states = await Promise.all(
    runIds.map(async (runId) => {
      await until(async () => (await crew.state(runId)).outcome !== null, 60_000);
      return crew.state(runId);
    }),
  );
  expect(states.filter(({ reason }) => reason !== "answered")).toEqual([]);
  expect(states.filter(({ paidButLost }) => paidButLost > 0)).toEqual([]);
  expect(endpoint.refusals).toEqual([]);
  expect(crew.faults).toEqual([]);

  const refusals = arrivals.filter(({ isRefused }) => isRefused);
  const early = arrivals.filter(({ at }) =>
    refusals.some(
      (refusal) =>
        at > refusal.at + IN_FLIGHT_MS && at < refusal.at + RETRY_AFTER_S * 1_000 - CLOCK_MS,
    ),
  );
  expect(early).toEqual([]);
  // The burst that was in flight, and then one probe each time that the gate opens.
  expect(refusals.length).toBeLessThanOrEqual(SLOTS + LIMITED_MS / (RETRY_AFTER_S * 1_000) + 1);
}, 120_000);

/** Two clocks, of Redis and of this process, are read to whole milliseconds. */
const CLOCK_MS = 20;
