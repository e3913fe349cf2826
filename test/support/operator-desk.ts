/**
 * What an operator has in front of them: scripted runs on a backbone of their own, a worker that
 * steps them in this process, and the `pawl` commands as processes of their own.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished } from "vitest";
import { systemClock } from "../../src/app/clock.ts";
import { childEnv } from "../../src/app/config.ts";
import { startScenario } from "../../src/app/scenarios.ts";
import { agentPacks, scriptedResolver, startWorker, worldBooks } from "../../src/app/wire.ts";
import { parseCase } from "../../src/cases/case.ts";
import type { WorldTotals } from "../../src/cases/world.ts";
import { parseEvent, type Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { parseRunState, type RunState } from "../../src/core/run-state.ts";
import { isTerminal } from "../../src/core/stop.ts";
import type { StepJob } from "../../src/queue/step-queue.ts";
import type { CrashPoint } from "../../src/step/work.ts";
import { openBackbone, type TestBackbone } from "./backbone.ts";
import { until } from "./until.ts";

const MAIN = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));
const GRACE_MS = 2_000;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Desk extends TestBackbone {
  readonly pawl: (...args: readonly string[]) => Promise<Ran>;
  /** Puts the case's outside into Redis and accepts its ticket. */
  readonly begin: (file: Json) => Promise<string>;
  readonly hire: (reach?: (point: CrashPoint, job: StepJob) => Promise<void>) => Promise<void>;
  readonly state: (runId: string) => Promise<RunState>;
  readonly events: (runId: string) => Promise<Event[]>;
  readonly once: (runId: string, is: (state: RunState) => boolean) => Promise<RunState>;
  readonly waiting: (runId: string) => Promise<RunState>;
  readonly ended: (runId: string) => Promise<RunState>;
  /** The outside's own books of a run. */
  readonly world: (runId: string) => Promise<WorldTotals>;
}

export async function openDesk(): Promise<Desk> {
  const backbone = await openBackbone();
  const { store, keys } = backbone;
  const env = childEnv({ REDIS_URL: inject("redisUrl"), PAWL_PREFIX: keys.prefix });
  const state: Desk["state"] = async (runId) => {
    const run = await store.read(runId);
    if (run === null) throw new Error(`no run ${runId}`);
    return parseRunState(run.json);
  };
  const once: Desk["once"] = async (runId, is) => {
    await until(async () => is(await state(runId)));
    return state(runId);
  };
  return {
    ...backbone,
    pawl: (...args) =>
      new Promise((resolve) => {
        execFile(process.execPath, [MAIN, ...args], { env }, (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
        });
      }),
    begin: (file) => startScenario(backbone, parseCase(JSON.stringify(file)), agentPacks()),
    async hire(reach) {
      const log = { step: () => undefined, fault: () => undefined };
      const step = { resolve: scriptedResolver(backbone, agentPacks()), log };
      const held = reach === undefined ? step : { ...step, reach };
      const worker = startWorker(backbone, systemClock, held, { concurrency: 2 });
      onTestFinished(() => worker.close(GRACE_MS));
      await worker.ready();
    },
    state,
    events: async (runId) => (await store.events(runId)).map(parseEvent),
    once,
    waiting: (runId) => once(runId, ({ status }) => status === "waiting"),
    ended: (runId) => once(runId, ({ status }) => isTerminal(status)),
    world: (runId) => worldBooks(backbone).totals(runId),
  };
}

/** The JSON lines of a command that succeeded. */
export async function linesOf(ran: Promise<Ran>): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await ran;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The code under which a command was refused, with nothing on stdout and exit 1. */
export async function refusalOf(ran: Promise<Ran>): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await ran;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  return (JSON.parse(stderr) as { error: Record<string, unknown> }).error;
}

const ORDER_INPUT = { type: "object", properties: { orderId: { type: "string" } } };

/** One order to read, a note that needs nobody, a refund that needs a person. */
export const AGENT = {
  name: "desk",
  tools: [
    {
      name: "get_order",
      effect: "read",
      input: ORDER_INPUT,
      facts: { "order.status": "/status" },
      about: { orderId: "/orderId" },
    },
    {
      name: "add_note",
      effect: "write",
      input: ORDER_INPUT,
      facts: { "note.id": "/noteId" },
      about: { orderId: "/orderId" },
      confirm: { pointer: "/state", equals: "added" },
    },
    {
      name: "create_refund",
      effect: "write",
      input: {
        type: "object",
        properties: { orderId: { type: "string" }, amountCents: { type: "integer" } },
      },
      facts: { "refund.id": "/refundId" },
      about: { orderId: "/orderId" },
      confirm: { pointer: "/status", equals: "succeeded" },
      lookup: true,
    },
  ],
  approvals: { request_refund_approval: { executes: "create_refund" } },
};

const about = { orderId: "A-1" };
const expecting = (pointer: string) => ({ about, fields: [{ pointer, check: "exists" }] });
const callOf = (tool: string, pointer: string) => ({
  call: { tool, args: about, reason: "to know", expected: expecting(pointer) },
});

export const GET_ORDER = callOf("get_order", "/status");
export const ADD_NOTE = callOf("add_note", "/noteId");
export const ASK_REFUND = {
  call: { tool: "request_refund_approval", args: { ...about, amountCents: 2_000 } },
};
export const ASK_CUSTOMER = {
  call: { tool: "ask_clarification", args: { question: "Which order?" } },
};
export const ANSWER = { call: { tool: "answer_user", args: { message: "Done.", claims: [] } } };

export function caseOf(replies: readonly Json[], changes: Readonly<Record<string, Json>> = {}) {
  return {
    name: "a run at the operator's desk",
    agent: AGENT,
    ticket: { id: "T-7", body: "I want my money back for A-1.", customer: { id: "c-1" } },
    tools: {
      get_order: [{ result: { orderId: "A-1", status: "delivered" } }],
      add_note: [{ result: { orderId: "A-1", noteId: "n-1", state: "added" } }],
      create_refund: [{ result: { orderId: "A-1", refundId: "r-1", status: "succeeded" } }],
    },
    replies: [...replies],
    ...changes,
  };
}

export const REFUND = caseOf([GET_ORDER, ASK_REFUND]);
