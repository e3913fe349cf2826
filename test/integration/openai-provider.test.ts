/** The OpenAI adapters over a real socket, by the real client, on real runs. */
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { createOpenAiProvider } from "../../src/providers/openai-provider.ts";
import type { WireApi } from "../../src/providers/wire-reply.ts";
import { ProviderFault, type UncappedRequest } from "../../src/providers/provider.ts";
import { buildContext } from "../../src/core/context.ts";
import { openCrew } from "../support/crew.ts";
import { orderDomain } from "../support/order-agent.ts";
import { PRICE } from "../support/price.ts";
import { runningState } from "../support/run-fixture.ts";
import { until } from "../support/until.ts";
import { openEndpoint, type WireAnswer, type WireRequest } from "../support/wire-endpoint.ts";

interface WireReplyCall {
  readonly name: string;
  readonly args: string;
}

const EXPECTED =
  '"_expected":{"about":{"orderId":"A-1"},"fields":[{"pointer":"/status","check":"exists","value":null,"values":null}],"closes":null}';
const GET = {
  name: "get_order",
  args: `{"orderId":"a-1","_reason":"the record says it",${EXPECTED}}`,
};
const DONE = { name: "answer_user", args: '{"message":"Done.","claims":[]}' };

/** A reply of either wire with these calls. */
function wireReply(api: WireApi, calls: readonly WireReplyCall[]): Json {
  if (api === "chat") {
    const toolCalls = calls.map(({ name, args }, i) => ({
      id: `call_${i}`,
      type: "function",
      function: { name, arguments: args },
    }));
    return {
      model: "m-1",
      choices: [{ index: 0, finish_reason: "tool_calls", message: { tool_calls: toolCalls } }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 10,
        prompt_tokens_details: { cached_tokens: 40 },
      },
    };
  }
  const output = calls.map(({ name, args }, i) => ({
    type: "function_call",
    call_id: `call_${i}`,
    name,
    arguments: args,
  }));
  return {
    status: "completed",
    model: "m-1",
    output: [{ type: "reasoning", id: "rs_1", summary: [] }, ...output],
    usage: {
      input_tokens: 100,
      output_tokens: 10,
      input_tokens_details: { cached_tokens: 40 },
    },
  };
}

function providerAt(api: WireApi, baseUrl: string) {
  const options = { api, apiKey: "sk-test", baseUrl, model: "m", serviceTier: "default" };
  return createOpenAiProvider({ ...options, price: PRICE, now: Date.now });
}

function requestOf(offer: "all" | "terminals" = "all"): UncappedRequest {
  const { agent } = orderDomain();
  const state = runningState(agent);
  return {
    ...buildContext(state, agent, offer),
    runId: "r-1",
    step: 1,
    turn: 0,
    model: "m",
    cacheKey: "a 1",
  };
}

describe.each(["responses", "chat"] as const)("over the %s wire", (api) => {
  const serve = (answer: (request: WireRequest, n: number) => WireAnswer) => openEndpoint(answer);

  async function faultAfter(answer: WireAnswer): Promise<ProviderFault> {
    const endpoint = await serve(() => answer);
    const { signal } = new AbortController();
    try {
      await providerAt(api, endpoint.url).decide({ ...requestOf(), outputCap: 500 }, signal);
    } catch (error) {
      if (error instanceof ProviderFault) return error;
      throw error;
    }
    throw new Error("it was a reply");
  }

  test.each(["state", "transcript"] as const)(
    "a run with the %s as context reads an order and answers, and OpenAI takes each request",
    async (context) => {
      const replies = [[GET], [GET, DONE], [DONE]];
      const endpoint = await serve((_, n) => ({
        body: wireReply(api, n === 0 ? (replies[0] ?? []) : (replies[2] ?? [])),
      }));
      const crew = await openCrew(providerAt(api, endpoint.url), { context });
      await crew.hire();
      const runId = await crew.accept();
      expect(await crew.ended(runId)).toMatchObject({
        status: "completed",
        reason: "answered",
        spent: { tokens: 220, moneyMicroUsd: 2 * (60 * 3 + 40 * 0.3 + 10 * 15) },
        paidButLost: 0,
      });
      expect(endpoint.refusals).toEqual([]);
      expect(endpoint.requests).toHaveLength(2);
      const [first] = crew.books.handlerRuns;
      expect(first).toMatchObject({ tool: "get_order", args: { orderId: "A-1" } });
      const events = await crew.events(runId);
      const verified = events.find((event) => event.type === "verified");
      expect(verified).toMatchObject({ verdict: "confirmed" });
      const decided = events.find((event) => event.type === "decided");
      expect(decided).toMatchObject({ calls: [{ reason: "the record says it" }] });
    },
  );

  test("each request asks for one call, is not stored, and says its key", async () => {
    const endpoint = await serve(() => ({ body: wireReply(api, [DONE]) }));
    const { signal } = new AbortController();
    await providerAt(api, endpoint.url).decide({ ...requestOf(), outputCap: 321 }, signal);
    const [request] = endpoint.requests;
    expect(request?.headers.authorization).toBe("Bearer sk-test");
    expect(request?.body).toMatchObject({
      model: "m",
      tool_choice: "required",
      parallel_tool_calls: false,
      [api === "chat" ? "max_tokens" : "max_output_tokens"]: 321,
    });
    expect(endpoint.refusals).toEqual([]);
  });

  test("on the last step a compatible server is offered the terminals alone", async () => {
    const endpoint = await serve(() => ({ body: wireReply(api, [DONE]) }));
    const { signal } = new AbortController();
    const request = { ...requestOf("terminals"), outputCap: 500 };
    await providerAt(api, endpoint.url).decide(request, signal);
    const tools = endpoint.requests[0]?.body["tools"] as JsonObject[];
    expect(tools).toHaveLength(request.tools.length);
    expect(request.allTools.length).toBeGreaterThan(request.tools.length);
  });

  test.each([
    [{ status: 401, body: { error: { code: "invalid_api_key" } } }, "final", "refused"],
    [{ status: 429, body: { error: { code: "insufficient_quota" } } }, "final", "refused"],
    [{ status: 429, body: { error: {} } }, "rate_limit", "refused"],
    [{ status: 500, body: "<html>" }, "retry", "refused"],
    [{ status: 504, body: "" }, "retry", "unknown"],
    [{ status: 200, body: "<html>" }, "retry", "unknown"],
    [{ status: 200, body: { error: { code: 503 } } }, "retry", "refused"],
    [{ does: "drop" }, "retry", "unknown"],
    [{ does: "break", body: { a: 1 } }, "retry", "unknown"],
  ] as const)("%j is a fault of kind %s, its fate %s", async (answer, kind, fate) => {
    const fault = await faultAfter(answer);
    expect(fault).toMatchObject({ kind, fate: { fate } });
  });

  test("a server that is not there has worked on nothing", async () => {
    const { signal } = new AbortController();
    const provider = providerAt(api, "http://127.0.0.1:65533/v1");
    await expect(provider.decide({ ...requestOf(), outputCap: 500 }, signal)).rejects.toMatchObject(
      {
        kind: "retry",
        fate: { fate: "refused" },
      },
    );
  });

  test("a request is never sent twice, whatever the server says", async () => {
    const endpoint = await serve(() => ({
      status: 503,
      headers: { "retry-after": "0", "x-should-retry": "true" },
      body: {},
    }));
    const { signal } = new AbortController();
    const asking = providerAt(api, endpoint.url).decide({ ...requestOf(), outputCap: 500 }, signal);
    await expect(asking).rejects.toThrow("status 503");
    expect(endpoint.requests).toHaveLength(1);
  });

  test("an abort reaches the socket", async () => {
    const endpoint = await serve(() => ({ does: "hang" }));
    const abort = new AbortController();
    const request = { ...requestOf(), outputCap: 500 };
    const asking = providerAt(api, endpoint.url).decide(request, abort.signal);
    const ended = asking.catch((error: unknown) => error);
    await until(() => endpoint.requests.length === 1);
    abort.abort(new Error("enough"));
    expect(await ended).toMatchObject({ message: "enough" });
    await until(() => endpoint.aborted() === 1);
  });

  test("what is counted is no less than its body has, by the tokenizer's measure", async () => {
    const provider = providerAt(api, "http://127.0.0.1:65533/v1");
    const { tokens, isMetered } = await provider.countInput(requestOf());
    expect(isMetered).toBe(true);
    expect(tokens).toBeGreaterThan(500);
  });
});
