/** Reasoning items of a response, over a real socket: back with their call, or in no request. */
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { createOpenAiProvider } from "../../src/providers/openai-provider.ts";
import { openCrew } from "../support/crew.ts";
import { PRICE } from "../support/price.ts";
import { openEndpoint } from "../support/wire-endpoint.ts";

const ARGS = JSON.stringify({
  orderId: "A-1",
  _reason: "the record says it",
  _expected: {
    about: { orderId: "A-1" },
    fields: [{ pointer: "/status", check: "exists", value: null, values: null }],
    closes: null,
  },
});
const reasoning = (n: number): JsonObject => ({
  type: "reasoning",
  id: `rs_${n}`,
  summary: [],
  encrypted_content: `sealed-${n}`,
});
const call = (n: number, name: string, args: string): JsonObject => ({
  type: "function_call",
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name,
  arguments: args,
  status: "completed",
});
const said = (text: string): JsonObject => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const DONE = [reasoning(9), call(9, "answer_user", '{"message":"Done.","claims":[]}')];

async function runWith(outputs: readonly Json[][], context: "state" | "transcript") {
  const endpoint = await openEndpoint((_, n) => ({
    body: {
      status: "completed",
      output: outputs[n] ?? [],
      usage: { input_tokens: 100, output_tokens: 50 },
    },
  }));
  const provider = createOpenAiProvider({
    api: "responses",
    apiKey: "sk-test",
    baseUrl: endpoint.url,
    model: "m",
    price: PRICE,
    serviceTier: "default",
    now: Date.now,
  });
  const crew = await openCrew(provider, { context, nudges: 2 });
  await crew.hire();
  const state = await crew.ended(await crew.accept());
  expect(endpoint.refusals).toEqual([]);
  const inputs = endpoint.requests.map(({ body }) => body["input"] as JsonObject[]);
  return { state, inputs };
}

const kindOf = ({ type, id, call_id: callId }: JsonObject): string =>
  [type, id, callId].filter((part) => typeof part === "string").join(" ");

test.each(["state", "transcript"] as const)(
  "reasoning, call and output stand in order with the server's ids (%s)",
  async (context) => {
    const { state, inputs } = await runWith(
      [[reasoning(1), call(1, "get_order", ARGS)], DONE],
      context,
    );
    expect(state).toMatchObject({ reason: "answered" });
    const kinds = inputs[1]?.map(kindOf) ?? [];
    const at = kinds.indexOf("reasoning rs_1");
    expect(kinds.slice(at, at + 3)).toEqual([
      "reasoning rs_1",
      "function_call fc_1 call_1",
      "function_call_output call_1",
    ]);
    expect(inputs[1]?.[at]).toMatchObject({ encrypted_content: "sealed-1" });
  },
);

test.each(["state", "transcript"] as const)(
  "a call that was not carried out and a text that was nudged leave nothing behind (%s)",
  async (context) => {
    const { state, inputs } = await runWith(
      [[reasoning(1), call(1, "no_such_tool", "{}")], [reasoning(2), said("Let me think.")], DONE],
      context,
    );
    expect(state).toMatchObject({ reason: "answered" });
    expect(inputs).toHaveLength(3);
    expect(JSON.stringify(inputs)).not.toMatch(/rs_|fc_|sealed/);
  },
);
