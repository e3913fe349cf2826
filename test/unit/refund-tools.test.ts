/** The tools of the refund pack on clients of an installation: who sees what, and who may write. */
import { describe, expect, test } from "vitest";
import { refundAgent } from "../../src/agents/refund/agent.ts";
import { amountText } from "../../src/agents/refund/amount-text.ts";
import type { RefundClients } from "../../src/agents/refund/clients.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { runCall } from "../../src/tools/run-call.ts";
import type { ToolContext } from "../../src/tools/tool.ts";

const ORDER = {
  orderId: "A-1",
  found: true,
  customerId: "c-17",
  status: "delivered",
  paidCents: 4_990,
  refundedCents: 0,
  currency: "EUR",
};
const MADE = {
  refundId: "re_1",
  orderId: "A-1",
  amountCents: 2_000,
  currency: "EUR",
  status: "succeeded",
};

function setup(order: JsonObject = ORDER) {
  const seen = { previews: [] as JsonObject[], keys: [] as string[] };
  const books = new Map<string, JsonObject>();
  const clients: RefundClients = {
    reads: {
      order: () => Promise.resolve(order),
      preview(wanted) {
        seen.previews.push({ ...wanted });
        return Promise.resolve({ ...wanted, allowed: true, refundableCents: 4_990 });
      },
    },
    bank: {
      refund(_wanted, key) {
        seen.keys.push(key);
        books.set(key, MADE);
        return Promise.resolve(MADE);
      },
      refundOf: (key) => Promise.resolve(books.get(key) ?? null),
    },
  };
  return { agent: refundAgent(clients), seen };
}

const CONTEXT: ToolContext = {
  runId: "run-1",
  step: 2,
  ticketId: "T-1",
  customerId: "c-17",
  idempotencyKey: null,
  signal: AbortSignal.timeout(10_000),
};

function toolOf(agent: ReturnType<typeof refundAgent>, name: string) {
  const tool = agent.tools.get(name) ?? agent.effects.get(name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

describe("the offer", () => {
  test("create_refund is no tool of the model and runs behind one approval", () => {
    const { agent } = setup();
    expect([...agent.tools.keys()]).toEqual(["policy_search", "order_read", "refund_preview"]);
    expect([...agent.effects.keys()]).toEqual(["create_refund"]);
    expect(agent.approvals.get("request_refund_approval")).toMatchObject({
      executes: "create_refund",
    });
  });

  test("only the refund is a write", () => {
    const { agent } = setup();
    const all = [...agent.tools.values(), ...agent.effects.values()];
    expect(all.filter((tool) => tool.effect === "write").map((tool) => tool.name)).toEqual([
      "create_refund",
    ]);
  });

  test("the message to the customer names facts that the refund gives", () => {
    const { agent } = setup();
    const named = [...(agent.effectMessage ?? "").matchAll(/\{\{(.+?)\}\}/g)].map((m) => m[1]);
    expect(named).toEqual(["refund.id", "refund.amount"]);
    expect(Object.keys(toolOf(agent, "create_refund").facts)).toEqual(
      expect.arrayContaining(named),
    );
  });
});

describe("somebody else's order", () => {
  test.each([
    ["of another customer", { ...ORDER, customerId: "c-99" }, "c-17"],
    ["for a ticket without a customer", ORDER, null],
    ["that names no customer", { ...ORDER, customerId: "" }, "c-17"],
  ])("%s is withheld", async (_, order, customerId) => {
    const { agent } = setup(order);
    const result = await toolOf(agent, "order_read").handler(
      { orderId: "A-1" },
      { ...CONTEXT, customerId },
    );
    expect(result).toEqual({
      orderId: "A-1",
      found: true,
      customerId: order.customerId,
      status: "withheld",
    });
  });

  test("is not previewed: the provider is not even asked", async () => {
    const { agent, seen } = setup({ ...ORDER, customerId: "c-99" });
    const wanted = { orderId: "A-1", amountCents: 2_000 };
    expect(await toolOf(agent, "refund_preview").handler(wanted, CONTEXT)).toMatchObject({
      orderId: "A-1",
      allowed: false,
      refundableCents: 0,
      reason: "not_this_customers_order",
    });
    expect(seen.previews).toEqual([]);
  });
});

test("the customer's own order is read whole and previewed", async () => {
  const { agent, seen } = setup();
  const wanted = { orderId: "A-1", amountCents: 2_000 };
  expect(await toolOf(agent, "order_read").handler({ orderId: "A-1" }, CONTEXT)).toEqual(ORDER);
  expect(await toolOf(agent, "refund_preview").handler(wanted, CONTEXT)).toMatchObject({
    allowed: true,
  });
  expect(seen.previews).toEqual([wanted]);
});

test("an order that there is not is said to be so, not withheld", async () => {
  const none = { orderId: "A-1", found: false, status: "none" };
  const { agent } = setup(none);
  expect(await toolOf(agent, "order_read").handler({ orderId: "A-1" }, CONTEXT)).toEqual(none);
});

describe("create_refund", () => {
  const wanted = { orderId: "A-1", amountCents: 2_000 };

  test("hands its key to the bank and adds the amount as a customer reads it", async () => {
    const { agent, seen } = setup();
    const context = { ...CONTEXT, idempotencyKey: "k-1" };
    expect(await runCall(toolOf(agent, "create_refund"), wanted, context)).toMatchObject({
      outcome: "succeeded",
      value: { ...MADE, amount: "20.00 EUR" },
    });
    expect(seen.keys).toEqual(["k-1"]);
  });

  test("without a key nothing is refunded", async () => {
    const { agent, seen } = setup();
    expect(await runCall(toolOf(agent, "create_refund"), wanted, CONTEXT)).toMatchObject({
      outcome: "failed",
    });
    expect(seen.keys).toEqual([]);
  });

  test("is looked up by its key, with the same result", async () => {
    const { agent } = setup();
    const tool = toolOf(agent, "create_refund");
    const context = { ...CONTEXT, idempotencyKey: "k-1" };
    expect(await tool.lookup?.("k-1", context)).toEqual({ found: false });
    const result = await tool.handler(wanted, context);
    expect(await tool.lookup?.("k-1", context)).toEqual({ found: true, result });
  });

  test.each<[string, JsonObject]>([
    ["half a cent", { orderId: "A-1", amountCents: 0.5 }],
    ["nothing", { orderId: "A-1", amountCents: 0 }],
    ["text", { orderId: "A-1", amountCents: "2000" }],
    ["an approval", { orderId: "A-1", amountCents: 2_000, approved: true }],
    ["more than a double holds", { orderId: "A-1", amountCents: 2 ** 53 }],
    ["no order", { amountCents: 2_000 }],
  ])("does not take %s", (_, args) => {
    expect(toolOf(setup().agent, "create_refund").parse(args)).toMatchObject({ ok: false });
  });
});

test("nothing connected: every tool that needs the outside is unavailable", async () => {
  const agent = refundAgent();
  for (const [name, args] of [
    ["order_read", { orderId: "A-1" }],
    ["refund_preview", { orderId: "A-1", amountCents: 1 }],
    ["create_refund", { orderId: "A-1", amountCents: 1 }],
  ] as const) {
    const tool = { ...toolOf(agent, name), retries: 0 };
    const context = { ...CONTEXT, idempotencyKey: "k-1" };
    expect(await runCall(tool, args, context)).toMatchObject({
      outcome: "failed",
      unavailable: true,
    });
  }
});

test.each<[Json, Json, string | null]>([
  [4_990, "EUR", "49.90 EUR"],
  [5, "EUR", "0.05 EUR"],
  [0, "EUR", "0.00 EUR"],
  [4_990, "JPY", "4990 JPY"],
  [4_990, "KWD", "4.990 KWD"],
  [Number.MAX_SAFE_INTEGER, "EUR", "90071992547409.91 EUR"],
  [49.9, "EUR", null],
  [-1, "EUR", null],
  ["4990", "EUR", null],
  [4_990, "euro", null],
  [4_990, null, null],
])("%s %s is written %s", (minorUnits, currency, text) => {
  expect(amountText(minorUnits, currency)).toBe(text);
});
