/**
 * What a later request must carry of a reply as it came: a reasoning item and the call that it led
 * to belong together, and the server takes neither without the other. Kept as text by reference;
 * only calls that were carried out are ever shown again, so a discarded reply leaves nothing.
 */
import { z } from "zod";
import type { ContextMessage } from "../core/context.ts";
import { jsonObjectSchema, type JsonObject } from "../core/json.ts";

/** Of a call's id, as servers take it. */
const MOST_ID_CHARS = 64;

/** Characters of a kept text at most; a reply with more is shown again without its reasoning. */
const MOST_CHARS = 32_000;

const textPart = z
  .object({ type: z.literal("output_text"), text: z.string() })
  .transform(({ type, text }) => ({ type, text, annotations: [], logprobs: [] }));

/** Fields that OpenAI's own schema of input items knows, and no other. */
const itemSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("reasoning"),
    id: z.string().min(1),
    summary: z.array(z.object({ type: z.literal("summary_text"), text: z.string() })),
    /** OpenAI's own; servers that keep no secret send the text. */
    encrypted_content: z.string().nullish(),
    content: z.array(z.object({ type: z.literal("reasoning_text"), text: z.string() })).optional(),
  }),
  z
    .object({
      type: z.literal("message"),
      id: z.string().min(1),
      phase: z.enum(["commentary", "final_answer"]).optional(),
      content: z.array(textPart),
    })
    .transform((item) => ({ ...item, role: "assistant", status: "completed" })),
  z.object({
    type: z.literal("function_call"),
    id: z.string().min(1),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
]);

const keptSchema = z.object({
  model: z.string(),
  /** What these items count as input at most. */
  tokens: z.int().min(0),
  items: z.array(jsonObjectSchema).min(2),
});
export type KeptItems = z.infer<typeof keptSchema>;

/**
 * Takes the output of a response; returns what stands up to its first call, or null where no
 * reasoning leads to that call or something stands between that cannot be sent again.
 */
export function keepItems(
  output: readonly unknown[],
  from: { readonly model: string; readonly outputTokens: number | null },
): string | null {
  const call = output.findIndex((item) => typeOf(item) === "function_call");
  const first = output.slice(0, call + 1);
  if (call < 0 || !first.some((item) => typeOf(item) === "reasoning")) return null;
  const items = z.array(itemSchema).safeParse(first);
  if (!items.success) return null;
  const text = JSON.stringify({ model: from.model, tokens: 0, items: items.data });
  // Without a count the tokens of what is encrypted are guessed from above.
  const tokens = from.outputTokens ?? Math.ceil(text.length / 2);
  if (text.length > MOST_CHARS) return null;
  return JSON.stringify({ model: from.model, tokens, items: items.data });
}

function typeOf(item: unknown): unknown {
  return (item as { readonly type?: unknown } | null)?.type;
}

/** The items of each call of a request that has some, as this model's server takes them. */
export function itemsOfCalls(
  messages: readonly ContextMessage[],
  kept: ReadonlyMap<string, string> | undefined,
  model: string,
): ReadonlyMap<string, KeptItems> {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const found = new Map<string, KeptItems>();
  // An id stands for one call in a request: the server's own are used where they do.
  const taken = new Set(calls.map(({ id }) => id));
  for (const { id, items: ref } of calls) {
    const text = ref === undefined ? undefined : kept?.get(ref);
    const read = text === undefined ? null : readItems(text);
    const last = read?.items.at(-1);
    if (read === null || last === undefined || read.model !== model) continue;
    const own = typeof last["call_id"] === "string" ? last["call_id"] : "";
    const isUsable = own !== "" && own.length <= MOST_ID_CHARS && !taken.has(own);
    const callId = isUsable ? own : id;
    taken.add(callId);
    const items: JsonObject[] = [...read.items.slice(0, -1), { ...last, call_id: callId }];
    found.set(id, { ...read, items });
  }
  return found;
}

function readItems(text: string): KeptItems | null {
  try {
    return keptSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
