/**
 * The model of cases as a server on loopback, for the real client: it serves the replies of each
 * run's script by their turn, refuses what OpenAI would refuse, and keeps the books of what was
 * asked. It lives with the runner, so that it outlives every worker that is killed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Json, JsonObject } from "../core/json.ts";
import type { ScriptedTurn } from "../providers/turn-script.ts";
import type { Case, ScriptedReply } from "./case.ts";
import { rawReplyAt, scriptedModels } from "./case-mind.ts";
import type { WorldBooks } from "./world.ts";

export type Wire = "responses" | "chat";

/** What the endpoint needs to know of the wires. */
export interface Wires {
  readonly whyRefused: (api: Wire, body: Json) => string | null;
  readonly shown: (
    api: Wire,
    body: JsonObject,
  ) => { readonly tools: readonly string[]; readonly text: string };
  readonly render: (
    api: Wire,
    turn: ScriptedTurn,
    options: { readonly model: string; readonly turn: number; readonly counts: boolean },
  ) => JsonObject;
}

export interface ModelEndpoint {
  /** Serves a run from now on; returns its address, which the turn's number and `/v1` follow. */
  readonly serve: (runId: string, file: Case, books: WorldBooks) => string;
  readonly forget: (runId: string) => void;
  readonly close: () => Promise<void>;
}

interface Served {
  readonly file: Case;
  readonly books: WorldBooks;
}

interface Asked extends Served {
  readonly runId: string;
  readonly turn: number;
  readonly api: Wire;
  readonly body: JsonObject;
}

const APIS: Readonly<Record<string, Wire>> = {
  "/v1/responses": "responses",
  "/v1/chat/completions": "chat",
};

export async function openModelEndpoint(wires: Wires): Promise<ModelEndpoint> {
  const runs = new Map<string, Served>();
  const server = createServer((incoming, response) => {
    void answer(wires, runs, incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    serve(runId, file, books) {
      runs.set(runId, { file, books });
      return `http://127.0.0.1:${port}/${runId}`;
    },
    forget: (runId) => void runs.delete(runId),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  wires: Wires,
  runs: ReadonlyMap<string, Served>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const text = await textOf(incoming);
  const [, runId = "", turn = "", path = ""] =
    /^\/([^/]+)\/(\d+)(\/.*)$/.exec(incoming.url ?? "") ?? [];
  const served = runs.get(runId);
  const api = APIS[path];
  if (served === undefined || api === undefined) {
    return send(response, 404, errorBody("not_found", "no such run or path"));
  }
  const body = JSON.parse(text) as JsonObject;
  const asked: Asked = { ...served, runId, turn: Number(turn), api, body };
  const unsendable = wires.whyRefused(api, body);
  await served.books.count(runId, "modelCalls");
  const shown = JSON.stringify({ ...wires.shown(api, body), unsendable });
  await served.books.note(runId, "request", shown);
  if (unsendable !== null) {
    return send(response, 400, errorBody("invalid_request_error", unsendable));
  }
  await give(wires, asked, response, gone.signal);
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function give(
  wires: Wires,
  asked: Asked,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { file, books, runId, turn, api, body } = asked;
  const { source } = scriptedModels(file, books);
  const raw = rawReplyAt(file, turn);
  const said = source.turn(turn);
  if (said === null) {
    await books.note(runId, "fault", `/replies/${turn}: none is left`);
    return send(response, 400, errorBody("invalid_request_error", "the script has no reply left"));
  }
  if ((said.delayMs ?? 0) > 0 && (await isGone(pause(said.delayMs, null, { signal })))) return;
  if (raw !== null) return giveRaw(raw, response);
  const model = typeof body["model"] === "string" ? body["model"] : "";
  const counts = countsTokens(asked, model);
  return send(response, 200, wires.render(api, said, { model, turn, counts }));
}

function isGone(waiting: Promise<unknown>): Promise<boolean> {
  return waiting.then(
    () => false,
    () => true,
  );
}

function countsTokens({ file, books }: Served, model: string): boolean {
  const { main, routine, fallback } = scriptedModels(file, books);
  return [main, routine, fallback].find((one) => one?.name === model)?.counts ?? main.counts;
}

function giveRaw(raw: ScriptedReply, response: ServerResponse): void {
  if (raw.hang === true) return;
  if (raw.drop !== undefined) {
    response.destroy();
    return;
  }
  const { status, headers, body } = raw.http ?? { status: 200, body: raw.chat ?? raw.response };
  send(response, status, body ?? null, headers);
}

function errorBody(type: string, message: string): JsonObject {
  return { error: { type, code: null, param: null, message } };
}

/** A text is sent as it is: servers send pages of HTML too. */
function send(
  response: ServerResponse,
  status: number,
  body: Json,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
