import { describe, expect, test } from "vitest";
import { PawlError } from "../../src/core/errors.ts";
import type { Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { createLogger, createStepLog, stepLine } from "../../src/telemetry/log.ts";
import { redact, redactText } from "../../src/telemetry/redact.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, callOf, runningState } from "../support/run-fixture.ts";

describe("redact", () => {
  test.each(["A-1842", "delivered", "EUR", "order.status", "c1", "2026-03-05", ""])(
    "a short code stays readable: %s",
    (text) => {
      const isEmpty = text === "";
      expect(redactText(text)).toBe(isEmpty ? "<text 0>" : text);
    },
  );

  test.each([
    "Where is my order?",
    "jane@example.com",
    "+49 170 1234567",
    "4111111111111111",
    "DE89370400440532013000",
    "x".repeat(41),
    "Привет",
  ])("free text is told by its length: %s", (text) => {
    expect(redactText(text)).toBe(`<text ${text.length}>`);
  });

  test.each(["password", "apiKey", "access_token", "customerName", "email", "iban", "cardNumber"])(
    "what stands under %s is never shown",
    (name) => {
      expect(redact({ [name]: "A-1" })).toEqual({ [name]: "<redacted>" });
      expect(redact({ [name]: ["A-1"] })).toEqual({ [name]: "<redacted>" });
    },
  );

  test("numbers, flags and null stay", () => {
    expect(redact({ n: 1, b: false, z: null })).toEqual({ n: 1, b: false, z: null });
  });

  test("lists, objects and nesting are bounded", () => {
    const list = Array.from({ length: 50 }, (_, i) => i);
    expect(redact(list)).toHaveLength(21);
    const wide = Object.fromEntries(list.map((i) => [`k${i}`, i]));
    expect(Object.keys(redact(wide) as object)).toHaveLength(20);
    expect(redact([[[[["deep"]]]]])).toEqual([[[["<nested>"]]]]);
  });
});

describe("the line of a step", () => {
  const SECRETS = "My card is gone, call Jane";

  function journalOf(args: Json): Event[] {
    const call = callOf("get_order", args, {
      reason: SECRETS,
      expected: { about: { orderId: SECRETS }, fields: [] },
    });
    const decided = { model: "m", finish: "stop", text: SECRETS, usage: null, contextTokens: 1 };
    return [
      {
        at: AT,
        step: 1,
        type: "decided",
        source: "model",
        calls: [call],
        moneyMicroUsd: 0,
        ms: 1,
        ...decided,
      },
      {
        at: AT,
        step: 1,
        type: "refused",
        callId: "c1",
        tool: "get_order",
        code: "invalid_arguments",
        terminal: false,
        message: SECRETS,
      },
      { at: AT, step: 1, type: "step_ended", ms: 7 },
    ];
  }

  test("says what happened and nothing that a customer or a model wrote", () => {
    const state = runningState(orderDomain().agent);
    const line = stepLine(state, journalOf({ orderId: SECRETS, email: "jane@example.com" }));
    expect(line).toMatchObject({
      run: "run-1",
      step: 1,
      tool: "get_order",
      args: { orderId: `<text ${SECRETS.length}>`, email: "<redacted>" },
      error: "invalid_arguments",
      status: "running",
      ms: { total: 7 },
    });
    expect(JSON.stringify(line)).not.toMatch(/card|Jane|jane/);
  });

  test("a tool's name is not shown when it is free text", () => {
    const [decided, ...rest] = journalOf({});
    if (decided?.type !== "decided") throw new Error("no decision");
    const calls = decided.calls.map((call) => ({ ...call, tool: SECRETS }));
    const line = stepLine(runningState(orderDomain().agent), [{ ...decided, calls }, ...rest]);
    expect(JSON.stringify(line)).not.toContain("Jane");
  });

  test("a name in the arguments is not shown when it is free text", () => {
    const line = stepLine(runningState(orderDomain().agent), journalOf({ [SECRETS]: 1 }));
    expect(JSON.stringify(line)).not.toContain("Jane");
  });

  test("a card number is not shown as a number or with dashes", () => {
    const args = { a: 4_111_111_111_111_111, b: "4111-1111-1111-1111" };
    const line = stepLine(runningState(orderDomain().agent), journalOf(args));
    expect(JSON.stringify(line)).not.toContain("4111");
  });

  test("a step without a decision still has a line", () => {
    expect(stepLine(runningState(orderDomain().agent), [])).toMatchObject({ step: 1, tool: null });
  });
});

describe("the log", () => {
  function setup(level = "info") {
    const lines: string[] = [];
    const log = createStepLog(createLogger(level, { write: (line) => void lines.push(line) }));
    return { log, lines: () => lines.map((line) => JSON.parse(line) as Record<string, Json>) };
  }

  test("a step is one line of JSON with its level and time", () => {
    const { log, lines } = setup();
    log.step(runningState(orderDomain().agent), []);
    expect(lines()).toMatchObject([{ level: "info", msg: "step", run: "run-1" }]);
  });

  test("a level above info writes no step", () => {
    const { log, lines } = setup("warn");
    log.step(runningState(orderDomain().agent), []);
    expect(lines()).toEqual([]);
  });

  test("a fault of ours is told with its code, a foreign one without its text", () => {
    const { log, lines } = setup();
    const job = { runId: "run-1", step: 2 };
    log.fault(job, new PawlError("PAWL_STATE_UNREADABLE", "version 9", { path: "/v" }));
    log.fault(job, new TypeError("my secret"));
    expect(lines()).toMatchObject([
      { code: "PAWL_STATE_UNREADABLE", path: "/v", detail: "version 9", step: 2 },
      { code: "internal_error", detail: "TypeError" },
    ]);
    expect(JSON.stringify(lines())).not.toContain("secret");
  });
});
