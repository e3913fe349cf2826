/**
 * A model server on loopback for the real client: checks every request against OpenAI's own schema
 * (unknown fields refused) and the pairing of calls and results, as the server would, and answers
 * what the test says.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { createRequestCheck } from "../../src/providers/openai-request-check.ts";

const check = await createRequestCheck();

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
}

export interface WireAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is. */
  readonly body?: Json;
  /** In place of an answer. */
  readonly does?: "drop" | "hang" | "break";
}

export interface WireEndpoint {
  readonly url: string;
  readonly requests: readonly WireRequest[];
  /** What OpenAI would have refused; a test ends with none. */
  readonly refusals: readonly string[];
  /** How many clients gave up on an answer. */
  readonly aborted: () => number;
}

export async function openEndpoint(
  answer: (request: WireRequest, n: number) => WireAnswer,
): Promise<WireEndpoint> {
  const requests: WireRequest[] = [];
  const refusals: string[] = [];
  let aborted = 0;
  const server = createServer((incoming, response) => {
    void bodyOf(incoming).then((text) => {
      const body = JSON.parse(text) as JsonObject;
      const request = { path: incoming.url ?? "", headers: incoming.headers, body };
      requests.push(request);
      response.on("close", () => {
        if (!response.writableFinished) aborted += 1;
      });
      const refusal = whyRefused(request);
      if (refusal !== null) refusals.push(refusal);
      const wanted = answer(request, requests.length - 1);
      give(
        response,
        refusal === null ? wanted : { status: 400, body: { error: { code: refusal } } },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, refusals, aborted: () => aborted };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function give(response: ServerResponse, { status = 200, headers, body, does }: WireAnswer): void {
  if (does === "hang") return;
  if (does === "drop") {
    response.destroy();
    return;
  }
  const text = typeof body === "string" ? body : JSON.stringify(body ?? null);
  response.writeHead(status, { "content-type": "application/json", ...headers });
  if (does === "break") {
    response.write(text.slice(0, 5));
    setImmediate(() => response.destroy());
    return;
  }
  response.end(text);
}

const APIS: Readonly<Record<string, "responses" | "chat">> = {
  "/v1/responses": "responses",
  "/v1/chat/completions": "chat",
};

function whyRefused({ path, body }: WireRequest): string | null {
  const api = APIS[path];
  return api === undefined ? `no such path: ${path}` : check.whyRefused(api, body);
}
