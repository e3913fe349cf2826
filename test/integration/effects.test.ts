/** Effects through crashes and silence: made once, asked for by key, never blindly tried again. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AgentDefinition } from "../../src/agents/agent.ts";
import type { CrashPoint } from "../../src/step/work.ts";
import { defineTool, TransientToolError, type ToolContext } from "../../src/tools/tool.ts";
import { openCrew } from "../support/crew.ts";
import { ANSWER, GET_ORDER, modelOf, reply, scriptOf } from "../support/model.ts";

const PAY = reply(["pay_back", { orderId: "A-1" }]);

interface Outside {
  /** What the books of the outside hold, by key. */
  readonly paid: Map<string, unknown>;
  readonly keys: (string | null)[];
  readonly lookups: string[];
  signal: AbortSignal | null;
}

type Act = (key: string, outside: Outside, context: ToolContext) => Promise<unknown>;
const OK = { orderId: "A-1", state: "done", id: "P-1" };

const pays: Act = (key, outside) => {
  outside.paid.set(key, OK);
  return Promise.resolve(OK);
};

async function setup(act: Act, options: { hasLookup?: boolean } & Partial<AgentDefinition> = {}) {
  const { hasLookup = true, ...changes } = options;
  const outside: Outside = { paid: new Map(), keys: [], lookups: [], signal: null };
  const payBack = defineTool({
    name: "pay_back",
    effect: "write",
    description: "",
    input: z.strictObject({ orderId: z.string() }),
    about: { orderId: "/orderId" },
    facts: { "refund.id": "/id" },
    confirm: { pointer: "/state", equals: "done" },
    handler(_args, context) {
      outside.keys.push(context.idempotencyKey);
      outside.signal = context.signal;
      return act(context.idempotencyKey ?? "", outside, context);
    },
    ...(hasLookup
      ? {
          lookup: (key: string) => {
            outside.lookups.push(key);
            const result = outside.paid.get(key);
            return Promise.resolve(
              result === undefined ? { found: false as const } : { found: true as const, result },
            );
          },
        }
      : {}),
  });
  const crew = await openCrew(scriptOf([PAY, ANSWER]), { tools: [payBack], ...changes });
  /** Dies once, at this point of the first step. */
  const dying = (point: CrashPoint) => {
    let deaths = 0;
    return async (at: CrashPoint): Promise<void> => {
      if (at !== point || deaths > 0) return;
      deaths += 1;
      throw new Error(`died at ${point}`);
    };
  };
  return { outside, dying, ...crew };
}

describe("a crash", () => {
  test("after the effect: the books are asked and the handler is not called again", async () => {
    const crew = await setup(pays);
    await crew.hire({ reach: crew.dying("after_act") });
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({
      reason: "answered",
      facts: [{ key: "refund.id", value: "P-1" }],
      calls: [{ outcome: "succeeded" }],
    });
    expect(crew.outside.keys).toHaveLength(1);
    expect(crew.outside.lookups).toEqual(crew.outside.keys);
  });

  test("between intent and effect: nothing happened, so the call is made now", async () => {
    const crew = await setup(pays);
    await crew.hire({ reach: crew.dying("before_act") });
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
    expect(crew.outside.keys).toHaveLength(1);
    expect(crew.outside.paid.size).toBe(1);
  });

  test("without a lookup the handler is called again under the same key", async () => {
    const crew = await setup(pays, { hasLookup: false });
    await crew.hire({ reach: crew.dying("after_act") });
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
    expect(crew.outside.keys).toHaveLength(2);
    expect(new Set(crew.outside.keys).size).toBe(1);
  });

  test("before the intent leaves no trace of a call", async () => {
    const crew = await setup(pays);
    await crew.hire({ reach: crew.dying("after_journal") });
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
    expect(crew.outside.lookups).toEqual([]);
    expect(crew.outside.keys).toHaveLength(1);
  });
});

describe("an answer that never came", () => {
  const silent =
    (isDone: boolean): Act =>
    (key, outside) => {
      if (isDone) outside.paid.set(key, OK);
      return Promise.reject(new TransientToolError("timeout"));
    };

  test("of an effect that happened is settled as confirmed", async () => {
    const crew = await setup(silent(true));
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({
      reason: "answered",
      facts: [{ key: "refund.id", value: "P-1" }],
    });
    expect(crew.outside.keys).toHaveLength(1);
  });

  test("of an effect that did not happen is a failed tool, never a second try", async () => {
    const crew = await setup(silent(false));
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({
      reason: "answered",
      calls: [{ outcome: "failed" }],
      feedback: [{ code: "tool_execution_failed" }],
    });
    expect(crew.outside.keys).toHaveLength(1);
  });

  test("where nobody can be asked ends as a handoff", async () => {
    const crew = await setup(silent(true), { hasLookup: false });
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({
      status: "handoff",
      reason: "effect_unknown",
      calls: [{ outcome: "unknown" }],
    });
    expect(crew.outside.keys).toHaveLength(1);
  });

  test("and a lookup that fails too end as a handoff", async () => {
    const crew = await setup((key, outside) => {
      outside.paid.get = () => {
        throw new Error("books closed");
      };
      return silent(true)(key, outside, {} as ToolContext);
    });
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "effect_unknown" });
  });
});

test("a result that does not confirm the effect is unknown, not done", async () => {
  const crew = await setup((key, outside) => {
    outside.paid.set(key, { ...OK, state: "queued" });
    return Promise.resolve({ ...OK, state: "queued" });
  });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({ reason: "effect_unknown", facts: [] });
});

test("a write that failed for good is told to the model, which may go on", async () => {
  const crew = await setup(() => Promise.reject(new Error("card closed")));
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered", spent: { steps: 2 } });
  expect(crew.outside.lookups).toEqual([]);
});

describe("the time limit", () => {
  const whileItLasts: Act = (_key, _outside, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
    });

  test("aborts a running tool and ends the run", async () => {
    const crew = await setup(whileItLasts, { limits: { timeMs: 60 } });
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "time_exceeded" });
    expect(crew.outside.signal?.aborted).toBe(true);
  });

  test("aborts a model that hangs and ends the run", async () => {
    let aborted: AbortSignal | null = null;
    const model = modelOf(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          aborted = signal;
          signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
        }),
    );
    const crew = await openCrew(model, { limits: { timeMs: 60 } });
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({
      status: "budget_exhausted",
      reason: "time_exceeded",
      spent: { steps: 0 },
      outward: [],
    });
    expect(aborted).toMatchObject({ aborted: true });
  });

  // A known fault: the run ends without asking the books, and the report says "intended" only.
  test("that strikes while an effect is made still asks whether it happened", async () => {
    const crew = await setup(
      (key, outside, context) => {
        outside.paid.set(key, OK);
        return whileItLasts(key, outside, context);
      },
      { limits: { timeMs: 60 } },
    );
    await crew.hire();
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ calls: [{ outcome: "succeeded" }] });
  });
});

test("a required tool that stays away ends the run as a handoff", async () => {
  const lookUp = defineTool({
    name: "get_order",
    effect: "read",
    description: "",
    input: z.strictObject({ orderId: z.string() }),
    required: true,
    retries: 0,
    handler: () => Promise.reject(new TransientToolError("unavailable")),
  });
  const crew = await openCrew(scriptOf([GET_ORDER]), { tools: [lookUp] });
  await crew.hire();
  const runId = await crew.accept();
  expect(await crew.ended(runId)).toMatchObject({
    status: "handoff",
    reason: "required_tool_unavailable",
  });
});
