/**
 * A small support domain for tests: two reads, two writes, and the books of what really happened.
 * The writes deduplicate by idempotency key, as the outside must; `handlerRuns` counts every start.
 */
import { z } from "zod";
import { defineAgent, type AgentDefinition, type AgentPack } from "../../src/agents/agent.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { defineTool, type ToolContext } from "../../src/tools/tool.ts";

export interface HandlerRun {
  readonly tool: string;
  readonly args: JsonObject;
  readonly key: string | null;
}

export interface Books {
  readonly orders: Map<string, JsonObject>;
  readonly effects: Map<string, HandlerRun>;
  readonly handlerRuns: HandlerRun[];
  /** Called before a handler does anything; may throw or wait. */
  before: (run: HandlerRun, context: ToolContext) => Promise<void>;
}

export interface OrderDomain {
  readonly agent: AgentPack;
  readonly books: Books;
}

export function orderDomain(changes: Partial<AgentDefinition> = {}): OrderDomain {
  const books: Books = {
    orders: new Map<string, JsonObject>([
      ["A-1", { orderId: "A-1", status: "delivered", paid: true, totalCents: 4_990 }],
      ["A-2", { orderId: "A-2", status: "pending", paid: false, totalCents: 2_000 }],
    ]),
    effects: new Map(),
    handlerRuns: [],
    before: () => Promise.resolve(),
  };
  const agent = defineAgent({
    name: "orders",
    version: "1",
    instructions: "Answer questions about orders.",
    tools: [...readTools(books), ...writeTools(books)],
    ...changes,
  });
  return { agent, books };
}

const orderId = { orderId: ["trim", "upper", "nospace"] } as const;

function readTools(books: Books) {
  return [
    defineTool({
      name: "get_order",
      effect: "read",
      description: "Reads one order.",
      input: z.strictObject({ orderId: z.string() }),
      normalize: orderId,
      about: { orderId: "/orderId" },
      facts: {
        "order.status": "/status",
        "order.paid": "/paid",
        "order.totalCents": "/totalCents",
      },
      async handler(args, context) {
        await started(books, "get_order", args, context);
        const order = books.orders.get(args.orderId);
        if (order === undefined) throw new Error("no such order");
        return order;
      },
    }),
    defineTool({
      name: "search_kb",
      effect: "read",
      description: "Searches the articles.",
      input: z.strictObject({ q: z.string(), limit: z.int().default(10) }),
      strict: false,
      facts: { "kb.hits": "/hits" },
      async handler(args, context) {
        await started(books, "search_kb", args, context);
        return { hits: [args.q] };
      },
    }),
  ];
}

function writeTools(books: Books) {
  return (["add_note", "set_status"] as const).map((name) =>
    defineTool({
      name,
      effect: "write",
      description: `Changes one order: ${name}.`,
      input: z.strictObject({ orderId: z.string(), value: z.string() }),
      normalize: orderId,
      about: { orderId: "/orderId" },
      facts: { [`${name}.value`]: "/value" },
      confirm: { pointer: "/state", equals: "applied" },
      async handler(args, context) {
        const run = await started(books, name, args, context);
        if (run.key === null) throw new Error("a write without a key");
        if (!books.effects.has(run.key)) books.effects.set(run.key, run);
        return resultOf(run);
      },
      lookup: (key) => {
        const run = books.effects.get(key);
        return Promise.resolve(
          run === undefined ? { found: false } : { found: true, result: resultOf(run) },
        );
      },
    }),
  );
}

function resultOf(run: HandlerRun): JsonObject {
  return { ...run.args, state: "applied" };
}

async function started(
  books: Books,
  tool: string,
  args: JsonObject,
  context: ToolContext,
): Promise<HandlerRun> {
  const run = { tool, args, key: context.idempotencyKey };
  books.handlerRuns.push(run);
  await books.before(run, context);
  return run;
}
