import { describe, expect, test } from "vitest";
import { next } from "../../src/core/next.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { TERMINAL_STATUSES } from "../../src/core/stop.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, callOf, runningState, turnOf } from "../support/run-fixture.ts";

const TURN = turnOf([callOf("get_order", { orderId: "A-1" })]);
const KEPT = callOf("get_order", { orderId: "A-2" }, { id: "c2" });
const WAITING = { for: "user_reply" as const, since: AT, until: null };

function setup(changes: Partial<RunState> = {}) {
  const state = runningState(orderDomain().agent, changes);
  const spent = (steps: number) => ({ steps, tokens: 0, moneyMicroUsd: 0 });
  return { state, spent };
}

describe("next", () => {
  test("a run that goes on asks the model with every tool", () => {
    expect(next(setup().state, AT)).toEqual({ do: "ask", offer: "all", dropped: [] });
  });

  test.each(TERMINAL_STATUSES)("a run that is %s does nothing", (status) => {
    expect(next(setup({ status }).state, AT)).toEqual({ do: "nothing", why: "ended" });
  });

  test("a journaled decision is judged, even when a limit is reached meanwhile", () => {
    const { state, spent } = setup({ turn: TURN });
    expect(next({ ...state, spent: spent(99) }, AT + 9e9)).toEqual({ do: "judge", turn: TURN });
  });

  test("a kept call is taken without the model", () => {
    expect(next(setup({ kept: [KEPT] }).state, AT)).toEqual({ do: "take_kept", call: KEPT });
  });

  test("on the last step the model gets terminals and kept calls are dropped", () => {
    const { state, spent } = setup({ kept: [KEPT] });
    expect(next({ ...state, spent: spent(5) }, AT)).toEqual({
      do: "ask",
      offer: "terminals",
      dropped: [KEPT],
    });
  });

  test("the step after the last one is not taken", () => {
    const { state, spent } = setup();
    expect(next({ ...state, spent: spent(6) }, AT)).toMatchObject({
      stop: { reason: "max_steps_exceeded" },
    });
  });

  test("a stored state beyond several limits stops with the first of them", () => {
    const { state } = setup();
    const limits = { ...state.limits, tokens: 10, moneyMicroUsd: 10 };
    const spent = { steps: 9, tokens: 11, moneyMicroUsd: 11 };
    expect(next({ ...state, limits, spent }, AT + 9e9)).toMatchObject({
      stop: { reason: "money_exceeded" },
    });
  });
});

describe("people", () => {
  test("a cancel comes before a journaled decision and before a takeover", () => {
    const { state } = setup({ cancelled: "enough", humanTookOver: true, turn: TURN });
    expect(next(state, AT)).toMatchObject({
      stop: { status: "cancelled", reason: "by_operator", detail: "enough" },
    });
  });

  test("a takeover ends the run before the next decision", () => {
    expect(next(setup({ humanTookOver: true }).state, AT)).toMatchObject({
      stop: { status: "handoff", reason: "human_took_over" },
    });
  });

  test("a limit comes before a takeover, a cancel before the limit", () => {
    const { state, spent } = setup({ humanTookOver: true });
    const over = { ...state, spent: spent(6) };
    expect(next(over, AT)).toMatchObject({ stop: { reason: "max_steps_exceeded" } });
    expect(next({ ...over, cancelled: "" }, AT)).toMatchObject({ stop: { status: "cancelled" } });
  });

  test("an effect that may be on its way is settled before anything ends the run", () => {
    const turn = { ...TURN, intended: { callId: "c1", idempotencyKey: "k" } };
    const { state } = setup({ turn, cancelled: "stop" });
    expect(next(state, AT)).toEqual({ do: "judge", turn });
  });
});

describe("waiting", () => {
  const parked = { status: "waiting" as const, waiting: WAITING };

  test("a wait without an end goes on", () => {
    expect(next(setup(parked).state, AT + 9e9)).toEqual({ do: "nothing", why: "waiting" });
  });

  test.each([
    ["user_reply", "user_silent"],
    ["approval", "approval_expired"],
  ] as const)("a wait for %s ends as %s when its time is up, and not before", (what, reason) => {
    const waiting = { for: what, since: AT, until: AT + 100 };
    const { state } = setup({ ...parked, waiting });
    expect(next(state, AT + 99)).toEqual({ do: "nothing", why: "waiting" });
    expect(next(state, AT + 100)).toMatchObject({ stop: { status: "handoff", reason } });
  });

  test("a cancel ends a wait", () => {
    expect(next(setup({ ...parked, cancelled: "" }).state, AT)).toMatchObject({
      stop: { status: "cancelled" },
    });
  });
});

describe("a wait for a retry", () => {
  const { state } = setup({
    status: "waiting",
    waiting: { for: "retry", since: AT, until: AT + 2_000 },
  });

  test("goes on when it is over, and not a moment before", () => {
    expect(next(state, AT + 1_999)).toEqual({ do: "nothing", why: "waiting" });
    expect(next(state, AT + 2_000)).toEqual({ do: "retry" });
  });

  test("does not use up the running time", () => {
    const limits = { ...state.limits, timeMs: 1_000 };
    expect(next({ ...state, limits }, AT + 2_000)).toEqual({ do: "retry" });
  });

  test.each([
    [{ cancelled: "no longer needed" }, "by_operator"],
    [{ humanTookOver: true }, "human_took_over"],
  ])("ends with the run when people say so: %j", (said, reason) => {
    expect(next({ ...state, ...said }, AT)).toMatchObject({ stop: { reason } });
  });
});
