import { describe, expect, test } from "vitest";
import { callKey } from "../../src/core/call-key.ts";
import { check, failedTooOften, type Ruling } from "../../src/core/check.ts";
import type { ReplyCall } from "../../src/core/decision.ts";
import type { CallRecord, RunState, Turn } from "../../src/core/run-state.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, callOf, runningState, turnOf } from "../support/run-fixture.ts";

function setup(changes: Partial<RunState> = {}) {
  const { agent } = orderDomain();
  const state = runningState(agent, changes);
  const rule = (turn: Turn, over: Partial<RunState> = {}): Ruling =>
    check({ ...state, spent: { ...state.spent, steps: 1 }, ...over, turn }, turn, agent, AT);
  const ruleCalls = (...calls: ReplyCall[]): Ruling => rule(turnOf(calls));
  return { agent, state, rule, ruleCalls };
}

const GET = callOf("get_order", { orderId: "A-1" });
const ANSWER = callOf("answer_user", { message: "hello" });

function made(tool: string, key: string, changes: Partial<CallRecord> = {}): CallRecord {
  const base = { id: "c0", step: 1, effect: "read" as const, shownArgs: "", grounds: 0 };
  return { ...base, tool, key, outcome: "succeeded", ...changes };
}

describe("how a reply ends", () => {
  test.each(["refusal", "content_filter"])("%s is a refused model, calls or not", (finish) => {
    const { rule } = setup();
    const stop = { status: "handoff", reason: "model_refused" };
    expect(rule(turnOf([GET], { finish }))).toMatchObject({ do: "stop", stop });
    expect(rule(turnOf([], { finish }))).toMatchObject({ do: "stop", stop });
  });

  test.each(["length", "incomplete", "max_tokens", "", "STOP", "something_new"])(
    "%j is a cut reply: nothing of it runs",
    (finish) => {
      const { rule } = setup();
      const stop = { status: "blocked", reason: "truncated_reply" };
      expect(rule(turnOf([GET], { finish }))).toMatchObject({ do: "stop", stop });
    },
  );

  test.each(["stop", "tool_calls", "completed"])("%s is normal", (finish) => {
    expect(setup().rule(turnOf([GET], { finish }))).toMatchObject({ do: "act" });
  });
});

describe("the shape of a reply", () => {
  test("text without a call stops the run at once", () => {
    const ruling = setup().rule(turnOf([], { text: "Transferring you", finish: "stop" }));
    expect(ruling).toMatchObject({ stop: { status: "blocked", reason: "terminal_tool_missing" } });
  });

  test("an agent with nudges allows as many, then stops", () => {
    const { agent } = orderDomain({ nudges: 1 });
    const turn = turnOf([], { finish: "stop" });
    const state = runningState(agent, { turn });
    expect(check(state, turn, agent, AT)).toEqual({ do: "nudge" });
    const nudged = { ...state, streaks: { ...state.streaks, nudges: 1 } };
    expect(check(nudged, turn, agent, AT)).toMatchObject({
      stop: { reason: "terminal_tool_missing" },
    });
  });

  test.each([
    ["a terminal beside a working call", [GET, ANSWER]],
    ["two terminals", [ANSWER, callOf("request_handoff", { summary: "" })]],
    ["the same terminal twice", [ANSWER, ANSWER]],
    ["a terminal beside an unknown tool", [callOf("no_such_tool", {}), ANSWER]],
  ])("%s is ambiguous", (_name, calls) => {
    expect(setup().ruleCalls(...calls)).toMatchObject({
      stop: { status: "blocked", reason: "ambiguous_terminal_calls" },
    });
  });

  test("several working calls are taken one by one, the first now", () => {
    const second = callOf("get_order", { orderId: "A-2" }, { id: "c2" });
    expect(setup().ruleCalls(GET, second)).toMatchObject({ do: "act", call: { id: "c1" } });
  });
});

describe("names and arguments", () => {
  test.each([
    "get_ordr",
    "GET_ORDER",
    "get_order ",
    "",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
  ])("%j is an unknown tool, and the refusal lists the tools", (name) => {
    const ruling = setup().ruleCalls(callOf(name, { orderId: "A-1" }));
    expect(ruling).toMatchObject({ do: "refuse", code: "unknown_tool", terminal: false });
    expect(ruling).toMatchObject({ message: expect.stringContaining("get_order, search_kb") });
  });

  test("invalid arguments are refused before a missing expectation is", () => {
    const call = callOf("get_order", { orderId: 7 }, { expected: null });
    expect(setup().ruleCalls(call)).toMatchObject({ do: "refuse", code: "invalid_arguments" });
  });

  test("an unknown tool is refused before its arguments are read", () => {
    const call = callOf("nope", {}, { args: { text: "{" } });
    expect(setup().ruleCalls(call)).toMatchObject({ code: "unknown_tool" });
  });

  test("the call that acts carries normalised arguments and its key", () => {
    const ruling = setup().ruleCalls(callOf("get_order", { orderId: " a-1 " }));
    expect(ruling).toMatchObject({
      do: "act",
      call: { args: { orderId: "A-1" }, key: callKey("get_order", { orderId: "A-1" }, null) },
    });
  });
});

describe("the expectation", () => {
  test.each([
    ["none", null],
    ["a wish", "to learn more"],
    ["no fields", { about: { orderId: "A-1" }, fields: [] }],
    ["an unknown check", { about: { orderId: "A-1" }, fields: [{ pointer: "", check: "nice" }] }],
    ["no entity", { fields: [{ pointer: "/status", check: "exists" }] }],
    ["another entity's name", { about: { id: "A-1" }, fields: [{ pointer: "", check: "exists" }] }],
  ])("%s is refused", (_name, expected) => {
    expect(setup().ruleCalls({ ...GET, expected })).toMatchObject({
      do: "refuse",
      code: "expectation_missing",
    });
  });

  test("a tool without an entity needs fields only", () => {
    const call = callOf("search_kb", { q: "refund" });
    expect(setup().ruleCalls(call)).toMatchObject({ do: "act" });
  });

  test("a field that no JSON pointer names cannot be checked, so it is refused", () => {
    const fields = [{ pointer: "status", check: "exists" }];
    const expected = { about: { orderId: "A-1" }, fields };
    expect(setup().ruleCalls({ ...GET, expected })).toMatchObject({ code: "expectation_missing" });
  });
});

describe("refusals in a row", () => {
  const BAD = callOf("no_such_tool", {});

  test.each([0, 1])("with %i before, the next is sent back", (refused) => {
    const { state, rule } = setup();
    const streaks = { ...state.streaks, refused };
    expect(rule(turnOf([BAD]), { streaks })).toMatchObject({ do: "refuse" });
  });

  test("the third ends the run, of whatever kind", () => {
    const { state, rule } = setup();
    const streaks = { ...state.streaks, refused: 2 };
    const stop = { status: "blocked", reason: "invalid_decision" };
    for (const call of [BAD, { ...GET, args: { text: "{" } }, { ...GET, expected: null }]) {
      expect(rule(turnOf([call]), { streaks })).toMatchObject({ do: "stop", stop });
    }
  });

  test("a terminal's arguments have a bound of their own", () => {
    const { state, rule } = setup();
    const turn = turnOf([callOf("answer_user", { msg: "x" })]);
    const refused = rule(turn, { streaks: { ...state.streaks, refused: 2 } });
    expect(refused).toMatchObject({ do: "refuse", code: "invalid_arguments", terminal: true });
    const streaks = { ...state.streaks, invalidTerminals: 2 };
    expect(rule(turn, { streaks })).toMatchObject({ stop: { reason: "invalid_decision" } });
  });

  test("a limit of null never ends the run", () => {
    const { state, rule } = setup();
    const over = {
      limits: { ...state.limits, refusedInARow: null },
      streaks: { ...state.streaks, refused: 99 },
    };
    expect(rule(turnOf([BAD]), over)).toMatchObject({ do: "refuse" });
    expect(failedTooOften({ ...state, ...over })).toBeNull();
  });

  test("a tool that failed for the third time ends the run too", () => {
    const { state } = setup();
    const after = (refused: number) =>
      failedTooOften({ ...state, streaks: { ...state.streaks, refused } });
    expect(after(2)).toBeNull();
    expect(after(3)).toMatchObject({ status: "blocked", reason: "invalid_decision" });
  });
});

describe("repeats", () => {
  const key = callKey("get_order", { orderId: "A-1" }, null);
  const REPEATED = { do: "stop", stop: { status: "stalled", reason: "repeated_call" } };

  test("a read without new grounds stops the run and names the earlier step", () => {
    const { rule } = setup();
    const calls = [made("get_order", key, { step: 4 })];
    expect(rule(turnOf([GET]), { calls })).toMatchObject({ ...REPEATED, earlierStep: 4 });
  });

  test("a new wording of the same call is a repeat", () => {
    const { rule } = setup();
    const fields = [{ pointer: "/paid", check: "exists" }];
    const expected = { about: { orderId: "A-1" }, fields };
    const call = callOf("get_order", { orderId: "a-1" }, { reason: "again", expected });
    expect(rule(turnOf([call]), { calls: [made("get_order", key)] })).toMatchObject(REPEATED);
  });

  test("a read may be repeated on new grounds, and not twice on the same", () => {
    const { rule } = setup();
    const first = made("get_order", key, { grounds: 0 });
    expect(rule(turnOf([GET]), { calls: [first], grounds: 1 })).toMatchObject({ do: "act" });
    const calls = [first, made("get_order", key, { id: "c9", grounds: 1 })];
    expect(rule(turnOf([GET]), { calls, grounds: 1 })).toMatchObject(REPEATED);
  });

  test("a write is never made twice, new grounds or not", () => {
    const { rule } = setup();
    const args = { orderId: "A-1", value: "x" };
    const calls = [made("add_note", callKey("add_note", args, null), { effect: "write" })];
    const call = callOf("add_note", args);
    expect(rule(turnOf([call]), { calls, grounds: 5 })).toMatchObject(REPEATED);
  });

  test("a call that failed is in the set like any other", () => {
    const { rule } = setup();
    const calls = [made("get_order", key, { outcome: "failed" })];
    expect(rule(turnOf([GET]), { calls })).toMatchObject(REPEATED);
  });

  test("a call does not repeat itself after a crash", () => {
    const { rule } = setup();
    const calls = [made("get_order", key, { id: GET.id, outcome: "intended" })];
    expect(rule(turnOf([GET]), { calls })).toMatchObject({ do: "act" });
  });
});

describe("the last step", () => {
  const LAST = { spent: { steps: 6, tokens: 0, moneyMicroUsd: 0 } };

  test("a working call is not made", () => {
    expect(setup().rule(turnOf([GET]), LAST)).toMatchObject({
      stop: { status: "budget_exhausted", reason: "max_steps_exceeded" },
    });
  });

  test("a repeat is told as a repeat", () => {
    const calls = [made("get_order", callKey("get_order", { orderId: "A-1" }, null))];
    expect(setup().rule(turnOf([GET]), { ...LAST, calls })).toMatchObject({
      stop: { reason: "repeated_call" },
    });
  });

  test("a terminal still runs", () => {
    expect(setup().rule(turnOf([ANSWER]), LAST)).toMatchObject({ do: "answer" });
  });
});

describe("a stale terminal", () => {
  test("an answer decided before the customer wrote is not sent", () => {
    const { rule } = setup();
    expect(rule(turnOf([ANSWER]), { heard: 1 })).toMatchObject({ do: "stale" });
    expect(rule(turnOf([ANSWER], { heard: 1 }), { heard: 1 })).toMatchObject({ do: "answer" });
  });

  test("a working call goes on all the same", () => {
    expect(setup().rule(turnOf([GET]), { heard: 1 })).toMatchObject({ do: "act" });
  });
});

test("the same decision gives the same ruling", () => {
  const { ruleCalls } = setup();
  expect(ruleCalls(GET)).toEqual(ruleCalls(GET));
});
