import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readResult, runCall } from "../../src/tools/run-call.ts";
import {
  defineTool,
  TransientToolError,
  type ToolContext,
  type ToolDefinition,
} from "../../src/tools/tool.ts";
import { createGate } from "../support/gate.ts";

const input = z.strictObject({});
type Definition = ToolDefinition<typeof input>;

function setup(changes: Partial<Definition> = {}) {
  const abort = new AbortController();
  const runs: ToolContext[] = [];
  const { handler = () => Promise.resolve({ state: "ok" }), ...rest } = changes;
  const tool = defineTool({
    name: "some_tool",
    effect: "read",
    description: "",
    input,
    ...rest,
    handler(args, context) {
      runs.push(context);
      return handler(args, context);
    },
  });
  const context: ToolContext = {
    runId: "run-1",
    step: 1,
    ticketId: "T-1",
    customerId: null,
    idempotencyKey: tool.effect === "write" ? "k" : null,
    signal: abort.signal,
  };
  return { abort, runs, tool, run: () => runCall(tool, {}, context) };
}

/** Ends only when its signal is aborted. */
const untilAborted: NonNullable<Definition["handler"]> = (_args, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
  });

const throwing = (error: unknown): Partial<Definition> => ({
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handlers throw anything
  handler: () => Promise.reject(error),
});

describe("a result", () => {
  test("JSON is taken as it is, after one run", async () => {
    expect(await setup().run()).toEqual({ outcome: "succeeded", value: { state: "ok" }, runs: 1 });
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const NOT_JSON: [string, unknown][] = [
    ["a bigint", { n: 10n }],
    ["a cycle", cycle],
    ["a Date", { at: new Date(0) }],
    ["a Map", new Map()],
    ["NaN", { n: Number.NaN }],
    ["undefined", undefined],
    ["bytes", new Uint8Array(2)],
    ["a function", () => 1],
  ];

  test.each(NOT_JSON)("%s fails a read", async (_name, value) => {
    const { run } = setup({ handler: () => Promise.resolve(value) });
    expect(await run()).toMatchObject({ outcome: "failed", unavailable: false, runs: 1 });
  });

  test.each(NOT_JSON)(
    "%s leaves a write unknown: its effect may be there",
    async (_name, value) => {
      const { run } = setup({ effect: "write", handler: () => Promise.resolve(value) });
      expect(await run()).toMatchObject({ outcome: "unknown" });
    },
  );

  test("__proto__ in a result is refused, since the journal could not give it back", async () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1}}');
    const { run } = setup({ handler: () => Promise.resolve(value) });
    expect(await run()).toMatchObject({ outcome: "failed" });
  });

  test.each([
    [{ state: "ok" }, "succeeded"],
    [{ state: "queued" }, "unknown"],
    [{}, "unknown"],
    [[], "unknown"],
  ])("a write that answers %j is %s", (value, outcome) => {
    const confirm = { pointer: "/state", equals: "ok" };
    const { tool } = setup({ effect: "write", confirm });
    expect(readResult(tool, value, 1)).toMatchObject({ outcome });
  });
});

describe("a timeout", () => {
  test("aborts the handler's signal; a read is tried again and then unavailable", async () => {
    const { run, runs } = setup({ handler: untilAborted, timeoutMs: 5, retries: 1 });
    expect(await run()).toMatchObject({ outcome: "failed", unavailable: true, runs: 2 });
    expect(runs.map((context) => context.signal.aborted)).toEqual([true, true]);
  });

  test("of a write is unknown and never tried again", async () => {
    const { run } = setup({ effect: "write", handler: untilAborted, timeoutMs: 5, retries: 5 });
    expect(await run()).toEqual({ outcome: "unknown", message: "the handler timed out", runs: 1 });
  });

  test("holds for a handler that ignores its signal", async () => {
    const never = () => new Promise<never>(() => undefined);
    const { run } = setup({ handler: never, timeoutMs: 5, retries: 0 });
    expect(await run()).toMatchObject({ outcome: "failed", unavailable: true });
  });

  test("drops what a handler gives or throws later", async () => {
    const gate = createGate();
    const late = setup({
      handler: async () => {
        await gate.wait();
        throw new Error("late");
      },
      timeoutMs: 5,
      retries: 0,
    });
    expect(await late.run()).toMatchObject({ outcome: "failed" });
    gate.open();
  });
});

describe("an error", () => {
  test("that is not transient fails at once", async () => {
    const { run } = setup({ ...throwing(new Error("no such order")), retries: 5 });
    expect(await run()).toEqual({
      outcome: "failed",
      unavailable: false,
      message: "no such order",
      runs: 1,
    });
  });

  test("that passes is retried inside the call", async () => {
    let left = 2;
    const { run } = setup({
      handler: () => {
        left -= 1;
        return left >= 0 ? Promise.reject(new TransientToolError("timeout")) : Promise.resolve(1);
      },
    });
    expect(await run()).toEqual({ outcome: "succeeded", value: 1, runs: 3 });
  });

  test.each(["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EPIPE", "EAI_AGAIN"])(
    "of the network, %s, is transient for a read",
    async (code) => {
      const { run } = setup({ ...throwing(Object.assign(new Error("x"), { code })), retries: 1 });
      expect(await run()).toMatchObject({ outcome: "failed", unavailable: true, runs: 2 });
    },
  );

  test("that came after a write may have left is unknown, before it a write is tried again", async () => {
    const lost = Object.assign(new Error("x"), { code: "ECONNRESET" });
    const write = { effect: "write" as const, retries: 1 };
    expect(await setup({ ...write, ...throwing(lost) }).run()).toMatchObject({
      outcome: "unknown",
      runs: 1,
    });
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED" });
    expect(await setup({ ...write, ...throwing(refused) }).run()).toMatchObject({
      outcome: "failed",
      runs: 2,
    });
  });

  test("of any shape has a text, cut", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const odd = Object.assign(new Error("x"), { message: { nested: true } });
    const shapes = [
      undefined,
      null,
      "text",
      7,
      cyclic,
      Object.create(null),
      odd,
      new Error("y".repeat(9_999)),
    ];
    for (const shape of shapes) {
      const result = await setup(throwing(shape)).run();
      if (result.outcome !== "failed") throw new Error(result.outcome);
      expect(typeof result.message).toBe("string");
      expect(result.message.length).toBeLessThan(320);
    }
  });

  test("thrown before the first await is an error like any other", async () => {
    const { run } = setup({
      handler: () => {
        throw new Error("at once");
      },
    });
    expect(await run()).toMatchObject({ outcome: "failed", message: "at once" });
  });
});

describe("an abort from outside", () => {
  test("reaches the handler and is thrown, not told as a tool's failure", async () => {
    const { abort, run, runs } = setup({
      handler: (args, context) => {
        abort.abort(new Error("shutting down"));
        return untilAborted(args, context);
      },
    });
    await expect(run()).rejects.toThrow("shutting down");
    expect(runs[0]?.signal.aborted).toBe(true);
  });

  test("before the start lets no handler run", async () => {
    const { abort, run, runs } = setup();
    abort.abort(new Error("gone"));
    await expect(run()).rejects.toThrow("gone");
    expect(runs).toEqual([]);
  });

  test("between two tries ends the wait", async () => {
    const { abort, run, runs } = setup({
      handler: () => {
        queueMicrotask(() => queueMicrotask(() => abort.abort(new Error("gone"))));
        return Promise.reject(new TransientToolError("unavailable"));
      },
      retries: 5,
    });
    await expect(run()).rejects.toThrow(/gone|aborted/);
    expect(runs).toHaveLength(1);
  });
});
