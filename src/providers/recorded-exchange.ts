/**
 * Recorded requests and answers of a model server, read as the adapters read live ones: whole
 * bodies, or the events of a stream put together. For debugging a strange server.
 */
import { z } from "zod";
import { PawlError } from "../core/errors.ts";
import { jsonSchema } from "../core/json.ts";
import { classify } from "./wire-errors.ts";
import { readReply, type ReadReply, type WireApi } from "./wire-reply.ts";

const interactionSchema = z.looseObject({
  path: z.string(),
  status: z.int(),
  headers: z.record(z.string(), z.string()).optional(),
  request: z.unknown().optional(),
  response: jsonSchema.optional(),
  sse: z.string().optional(),
});
export type Interaction = z.infer<typeof interactionSchema>;

const fileSchema = z.looseObject({ interactions: z.array(interactionSchema) });

export interface ReadExchange {
  /** Its place in the file, from 0. */
  readonly index: number;
  readonly api: WireApi;
  /** The model asked for; the answer may name a snapshot of it. */
  readonly model: string | null;
  readonly read: ReadReply;
}

/** Takes a file's text; throws PAWL_EXCHANGE_INVALID with the path inside it. */
export function parseExchanges(text: string): readonly Interaction[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new PawlError("PAWL_EXCHANGE_INVALID", "the file is not JSON", { path: "/", cause });
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data.interactions;
  const issue = parsed.error.issues[0];
  const path = `/${(issue?.path ?? []).join("/")}`;
  throw new PawlError("PAWL_EXCHANGE_INVALID", `${path}: ${issue?.message}`, { path });
}

/** Null: not a request for a reply of a model (files, conversations). `now` is ms since epoch. */
export function readExchange(one: Interaction, index: number, now: number): ReadExchange | null {
  const api = apiOf(one.path);
  if (api === null) return null;
  const asked = z.object({ model: z.string() }).safeParse(one.request);
  const model = asked.success ? asked.data.model : null;
  const body = one.sse === undefined ? one.response : streamed(api, one.sse);
  if (one.status < 400) return { index, api, model, read: readReply(api, body, now) };
  const headers = Object.fromEntries(
    Object.entries(one.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const fault = classify({ status: one.status, headers, body }, now);
  return { index, api, model, read: { ok: false, fault, usage: null } };
}

function apiOf(path: string): WireApi | null {
  if (path.endsWith("/chat/completions")) return "chat";
  // A background response is asked for again under its id.
  return /\/responses(\/[^/]+)?$/.test(path) ? "responses" : null;
}

/** The body that a stream's events make up; what cannot be read of it is left out. */
function streamed(api: WireApi, sse: string): unknown {
  const events = sse.split("\n").flatMap((line) => {
    const data = line.startsWith("data:") ? line.slice("data:".length).trim() : "";
    if (data === "" || data === "[DONE]") return [];
    try {
      return [JSON.parse(data) as unknown];
    } catch {
      return [];
    }
  });
  return api === "chat" ? fromChunks(events) : fromResponseEvents(events);
}

const responseEventSchema = z.object({
  type: z.enum(["response.completed", "response.incomplete", "response.failed"]),
  response: z.unknown().optional(),
});

function fromResponseEvents(events: readonly unknown[]): unknown {
  const last = events
    .map((event) => responseEventSchema.safeParse(event).data)
    .findLast((event) => event !== undefined);
  return last?.response ?? null;
}

const chunkSchema = z.looseObject({
  choices: z.array(
    z.looseObject({
      index: z.int().default(0),
      finish_reason: z.string().nullish(),
      delta: z.looseObject({
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        tool_calls: z
          .array(
            z.looseObject({
              index: z.int().default(0),
              id: z.string().nullish(),
              function: z
                .looseObject({ name: z.string().nullish(), arguments: z.string().nullish() })
                .optional(),
            }),
          )
          .nullish(),
      }),
    }),
  ),
});

/** The first choice put together; usage comes in a chunk of its own, the last one. */
function fromChunks(events: readonly unknown[]): unknown {
  const chunks = events.flatMap((event) => chunkSchema.safeParse(event).data ?? []);
  if (chunks.length === 0) return events.at(-1) ?? null;
  const calls: { id: string; function: { name: string; arguments: string } }[] = [];
  let content = "";
  let refusal = "";
  let finish: string | null = null;
  for (const choice of chunks.flatMap((chunk) => chunk.choices)) {
    if (choice.index !== 0) continue;
    content += choice.delta.content ?? "";
    refusal += choice.delta.refusal ?? "";
    finish = choice.finish_reason ?? finish;
    for (const part of choice.delta.tool_calls ?? []) {
      const call = (calls[part.index] ??= { id: "", function: { name: "", arguments: "" } });
      call.id ||= part.id ?? "";
      call.function.name += part.function?.name ?? "";
      call.function.arguments += part.function?.arguments ?? "";
    }
  }
  const message = {
    content: content || null,
    refusal: refusal || null,
    tool_calls: calls.filter((call) => call !== undefined),
  };
  const usage = chunks.findLast((chunk) => chunk["usage"] !== null)?.["usage"];
  const first = chunks[0];
  return {
    model: first?.["model"],
    service_tier: first?.["service_tier"],
    choices: [{ finish_reason: finish, message }],
    usage,
  };
}
