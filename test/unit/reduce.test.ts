import { describe, expect, test } from "vitest";
import { parseEvent, parseHappening, type Event, type Happening } from "../../src/core/event.ts";
import { cut } from "../../src/core/cut.ts";
import { sameEntity } from "../../src/core/reduce-facts.ts";
import { reduce, replay } from "../../src/core/reduce.ts";
import { parseRunState, type RunState } from "../../src/core/run-state.ts";
import { type Fact } from "../../src/core/fact.ts";
import { orderDomain } from "../support/order-agent.ts";
import { acceptedEvent, AT, callOf, factOf, runningState } from "../support/run-fixture.ts";

type Part<T extends Event["type"]> = Omit<Extract<Event, { type: T }>, "at" | "step" | "type">;

function setup(changes: Partial<RunState> = {}) {
  const { agent } = orderDomain({ postcondition: [{ fact: "order.paid", equals: true }] });
  const state = runningState(agent, changes);
  return { agent, state };
}

function event<T extends Event["type"]>(type: T, part: Part<T>, at = AT): Event {
  return { type, at, step: 1, ...part } as Event;
}

const DECIDED: Part<"decided"> = {
  source: "model",
  model: "m",
  finish: "tool_calls",
  text: null,
  calls: [callOf("get_order", { orderId: "A-1" })],
  usage: { input: 100, cached: 0, cacheWrite: 0, output: 20, reasoning: 5 },
  moneyMicroUsd: 7,
  contextTokens: 100,
  ms: 1,
};

const CALLED: Part<"called"> = {
  callId: "c1",
  tool: "get_order",
  effect: "read",
  key: "k",
  args: { orderId: "A-1" },
  outcome: "succeeded",
  result: { status: "x" },
  handlerRuns: 1,
  ms: { decide: 0, act: 1, total: 1 },
};

const ENDED: Part<"ended"> = {
  status: "stalled",
  reason: "no_progress",
  detail: "",
  earlierStep: null,
  outcome: { kind: "stop", known: [], unknown: [], contradicts: [], tried: [], detail: "" },
};

function verifiedWith(facts: Fact[], changes: Partial<Part<"verified">> = {}): Event {
  const base = { callId: "c1", verdict: "confirmed" as const, why: [], facts, question: null };
  return event("verified", { ...base, ...changes });
}

describe("the journal's order", () => {
  test("a journal begins with its acceptance and holds one", () => {
    const { agent } = setup();
    const accepted = acceptedEvent(agent);
    expect(() => replay([])).toThrow("the journal is empty");
    expect(() => reduce(null, event("started", {}))).toThrow("cannot begin with started");
    expect(() => replay([accepted, accepted])).toThrow("accepts its run once");
  });

  test("nothing follows the end", () => {
    const ended = reduce(setup().state, event("ended", ENDED));
    for (const late of [
      event("started", {}),
      event("ended", ENDED),
      acceptedEvent(setup().agent),
    ]) {
      expect(() => reduce(ended, late)).toThrow(expect.objectContaining({ disposition: "park" }));
    }
  });

  test("the state before is not changed", () => {
    const { state } = setup();
    const before = structuredClone(state);
    reduce(state, event("decided", DECIDED));
    reduce(state, verifiedWith([factOf("order.paid", true)]));
    expect(state).toEqual(before);
  });
});

describe("decisions and money", () => {
  test("a decision from the model settles its reservation", () => {
    const { state } = setup({ reserved: { tokens: 500, moneyMicroUsd: 50 } });
    expect(reduce(state, event("decided", DECIDED))).toMatchObject({
      spent: { steps: 1, tokens: 120, moneyMicroUsd: 7 },
      reserved: null,
      nextCall: 2,
      turn: { heard: 0, permission: null, intended: null },
    });
  });

  test("missing usage settles at the reservation", () => {
    const { state } = setup({ reserved: { tokens: 500, moneyMicroUsd: 50 } });
    const decided = event("decided", { ...DECIDED, usage: null, moneyMicroUsd: 50 });
    expect(reduce(state, decided).spent).toMatchObject({ tokens: 500, moneyMicroUsd: 50 });
  });

  test("a kept decision costs a step and nothing else", () => {
    const kept = [callOf("get_order", { orderId: "A-2" }, { id: "c2" })];
    const { state } = setup({ kept });
    const part = {
      ...DECIDED,
      source: "kept" as const,
      calls: kept,
      usage: null,
      moneyMicroUsd: 0,
    };
    expect(reduce(state, event("decided", part))).toMatchObject({
      spent: { steps: 1, tokens: 0, moneyMicroUsd: 0 },
      kept: [],
      nextCall: 1,
    });
  });

  test("a reservation that a crash left behind is paid but lost", () => {
    const { state } = setup({ reserved: { tokens: 500, moneyMicroUsd: 50 } });
    const again = reduce(state, event("reserved", { tokens: 400, moneyMicroUsd: 40 }));
    expect(again).toMatchObject({
      reserved: { tokens: 400 },
      paidButLost: 1,
      spent: { tokens: 500, moneyMicroUsd: 50 },
    });
    expect(reduce(again, event("ended", ENDED))).toMatchObject({
      reserved: null,
      paidButLost: 2,
      spent: { tokens: 900, moneyMicroUsd: 90 },
    });
  });

  test("the calls behind the first are kept for steps of their own", () => {
    const second = callOf("get_order", { orderId: "A-2" }, { id: "c2" });
    const { state } = setup();
    const decided = reduce(
      state,
      event("decided", { ...DECIDED, calls: [...DECIDED.calls, second] }),
    );
    expect(reduce(decided, event("step_ended", { ms: 1 }))).toMatchObject({
      step: 2,
      turn: null,
      kept: [second],
    });
  });
});

describe("streaks", () => {
  const refusal = { callId: "c1", tool: "x", code: "unknown_tool" as const, message: "m" };

  test("a refusal counts, a call that worked resets it", () => {
    const refused = reduce(setup().state, event("refused", { ...refusal, terminal: false }));
    expect(refused.streaks.refused).toBe(1);
    expect(reduce(refused, event("called", CALLED)).streaks.refused).toBe(0);
  });

  test("a failed tool counts with the refusals", () => {
    const { result: _result, ...rest } = CALLED;
    const error = { code: "tool_execution_failed", message: "down" };
    const failed = event("called", { ...rest, outcome: "failed", error });
    expect(reduce(setup().state, failed)).toMatchObject({
      streaks: { refused: 1 },
      feedback: [{ code: "tool_execution_failed", message: "down" }],
    });
  });

  test("an answer sent back resets the refusals and has a count of its own", () => {
    const refused = reduce(setup().state, event("refused", { ...refusal, terminal: false }));
    const part = { callId: "c1", code: "claims_unsupported" as const, unsupported: ["5"] };
    expect(reduce(refused, event("sent_back", part)).streaks).toMatchObject({
      refused: 0,
      claimsSentBack: 1,
      postconditionSentBack: 0,
    });
  });

  test("a terminal's bad arguments are counted apart", () => {
    const state = reduce(setup().state, event("refused", { ...refusal, terminal: true }));
    expect(state.streaks).toMatchObject({ refused: 0, invalidTerminals: 1 });
  });

  test("only a call that gave a result counts as progress or none", () => {
    const { state } = setup();
    for (const other of [
      event("refused", { ...refusal, terminal: false }),
      event("nudged", {}),
      event("sent_back", { callId: "c", code: "claims_unsupported", unsupported: [] }),
    ]) {
      expect(reduce(state, other).streaks.noProgress).toBe(0);
    }
  });
});

describe("facts, questions and progress", () => {
  const known = factOf("order.status", "paid");

  test("a new fact is progress, an equal one is not", () => {
    const once = reduce(setup().state, verifiedWith([known]));
    expect(once).toMatchObject({ facts: [known], streaks: { noProgress: 0 } });
    const again = reduce(once, verifiedWith([{ ...known, callId: "c2", id: "f1" }]));
    expect(again).toMatchObject({ facts: [known], streaks: { noProgress: 1 } });
  });

  test("a changed value is progress and both stay", () => {
    const once = reduce(setup().state, verifiedWith([known]));
    const changed = reduce(once, verifiedWith([factOf("order.status", "lost", { id: "f2" })]));
    expect(changed.facts.map((fact) => fact.value)).toEqual(["paid", "lost"]);
    expect(changed.streaks.noProgress).toBe(0);
  });

  test("an equal value about another entity is a fact of its own", () => {
    const [a, b] = ["A-1", "A-2"].map((orderId) => ({ ...known, about: { orderId } }));
    if (a === undefined || b === undefined) throw new Error("no facts");
    const once = reduce(setup().state, verifiedWith([a]));
    const both = reduce(once, verifiedWith([{ ...b, id: "f2" }]));
    expect(both.facts.map((fact) => fact.about)).toEqual([a.about, b.about]);
  });

  test("an unconfirmed verdict is no progress and asks a question", () => {
    const question = {
      id: "q2",
      text: "?",
      open: true,
      condition: null,
      pointers: ["/x"],
      about: {},
      closedBy: null,
    };
    const state = reduce(setup().state, verifiedWith([], { verdict: "unconfirmed", question }));
    expect(state).toMatchObject({ streaks: { noProgress: 1 } });
    expect(state.questions.map((q) => q.open)).toEqual([true, true]);
    const fact = factOf("f", 1, { pointer: "/x", id: "f9" });
    expect(reduce(state, verifiedWith([fact])).questions[1]).toMatchObject({
      open: false,
      closedBy: "f9",
    });
    const elsewhere = factOf("f", 1, { pointer: "/y" });
    expect(reduce(state, verifiedWith([elsewhere])).questions[1]).toMatchObject({ open: true });
  });

  test("the postcondition's question follows its condition", () => {
    const paid = reduce(setup().state, verifiedWith([factOf("order.paid", true)]));
    expect(paid.questions).toMatchObject([{ open: false, closedBy: "f1" }]);
    const unpaid = reduce(paid, verifiedWith([factOf("order.paid", false, { id: "f2" })]));
    expect(unpaid.questions).toMatchObject([{ open: true, closedBy: null }]);
  });

  test("a confirmed effect is new grounds, a read is not", () => {
    const intent = { callId: "c1", tool: "t", key: "k", args: {}, idempotencyKey: "i" };
    const turn = reduce(setup().state, event("decided", DECIDED));
    const written = reduce(turn, event("intended", intent));
    expect(reduce(written, verifiedWith([])).grounds).toBe(1);
    expect(reduce(written, verifiedWith([], { verdict: "contradicted" })).grounds).toBe(0);
    expect(reduce(reduce(turn, event("called", CALLED)), verifiedWith([])).grounds).toBe(0);
  });

  test("two sets of identity values agree unless a shared name differs", () => {
    expect(sameEntity({}, { a: 1 })).toBe(true);
    expect(sameEntity({ a: 1, b: 2 }, { a: 1, c: 3 })).toBe(true);
    expect(sameEntity({ a: 1 }, { a: 2 })).toBe(false);
  });
});

describe("what happens outside", () => {
  const observe = (state: RunState, happening: Happening, at = AT): RunState =>
    reduce(state, event("observed", { happening }, at));
  const reply = { kind: "user_reply" as const, id: "h1", text: "A-7" };

  test("a reply is new grounds, is heard, and ends the wait for it", () => {
    const parked = reduce(setup().state, event("parked", { for: "user_reply", until: null }));
    expect(parked).toMatchObject({ status: "waiting", waiting: { since: AT } });
    expect(observe(parked, reply, AT + 500)).toMatchObject({
      status: "running",
      waiting: null,
      clock: { parkedMs: 500 },
      grounds: 1,
      heard: 1,
      replies: [{ text: "A-7" }],
      seen: ["h1"],
    });
  });

  test("a reply does not end another wait", () => {
    const parked = reduce(setup().state, event("parked", { for: "approval", until: AT + 9 }));
    expect(observe(parked, reply)).toMatchObject({ status: "waiting", heard: 1 });
  });

  test("only a newer revision replaces the ticket", () => {
    const { state } = setup();
    const revised = (revision: number) => ({
      kind: "ticket_revision" as const,
      id: `r${revision}`,
      ticket: { ...state.ticket, revision, body: "new" },
    });
    expect(observe(state, revised(1))).toMatchObject({
      ticket: { body: "" },
      grounds: 0,
      heard: 0,
    });
    expect(observe(state, revised(2))).toMatchObject({ ticket: { body: "new" }, grounds: 1 });
  });

  test("a takeover and a cancel are remembered and end any wait", () => {
    const parked = reduce(setup().state, event("parked", { for: "approval", until: null }));
    expect(observe(parked, { kind: "human_reply", id: "h", by: "u" })).toMatchObject({
      humanTookOver: true,
      status: "running",
    });
    expect(observe(parked, { kind: "cancel", id: "h", why: "w" })).toMatchObject({
      cancelled: "w",
      status: "running",
    });
  });

  test("the memory of what was heard is bounded", () => {
    let { state } = setup();
    for (let i = 0; i < 300; i += 1) state = observe(state, { ...reply, id: `h${i}` });
    expect(state.seen).toHaveLength(200);
    expect(state.seen.at(-1)).toBe("h299");
  });
});

describe("what the model is shown stays bounded", () => {
  test("results are cut, and only the last ones are kept", () => {
    let { state } = setup();
    for (let i = 0; i < 9; i += 1) {
      const result = "x".repeat(50_000);
      state = reduce(state, event("called", { ...CALLED, callId: `c${i}`, result }));
    }
    expect(state.recent.map((r) => r.callId)).toEqual(["c6", "c7", "c8"]);
    expect(state.recent[0]?.text).toMatch(/… \[cut: \d+ more characters\]$/);
    expect(JSON.stringify(state.recent).length).toBeLessThan(7_000);
  });

  test("a stored result is shown by its preview and its size", () => {
    const { result: _result, ...rest } = CALLED;
    const ref = { bytes: 400_000, preview: "[1,2" };
    expect(reduce(setup().state, event("called", { ...rest, ref })).recent).toMatchObject([
      { text: "[1,2… [cut: 400000 bytes in all]" },
    ]);
  });

  test("a cut never leaves half a character", () => {
    expect(cut("ab", 2)).toBe("ab");
    expect(cut(`a${"🍸".repeat(3)}`, 2)).toBe("a… [cut: 6 more characters]");
    expect(cut("🍸🍸", 2)).toBe("🍸… [cut: 2 more characters]");
  });
});

describe("reading what is stored", () => {
  test("a state and its events are read back equal", () => {
    const { state, agent } = setup();
    expect(parseRunState(JSON.stringify(state))).toEqual(state);
    const accepted = acceptedEvent(agent);
    expect(parseEvent(JSON.stringify(accepted), 0)).toEqual(accepted);
  });

  test.each([
    ["no JSON", "{secret", undefined],
    ["null", "null", "/v"],
    ["no version", '{"secret":1}', "/v"],
    ["a version of the future", '{"v":2}', "/v"],
    ["a text as version", '{"v":"1"}', "/v"],
  ])("a state that is %s is unreadable", (_name, text, path) => {
    const fault = { code: "PAWL_STATE_UNREADABLE", disposition: "park", path };
    expect(() => parseRunState(text)).toThrow(expect.objectContaining(fault));
  });

  test("a wrong value is told by its place and never by itself", () => {
    const text = JSON.stringify({ ...setup().state, step: "my secret" });
    expect(() => parseRunState(text)).toThrow(expect.objectContaining({ path: "/step" }));
    expect(() => parseRunState(text)).not.toThrow(/secret/);
  });

  test.each([
    ["{", "/3"],
    ['{"type":"invented","at":1,"step":1}', "/3/type"],
    ['{"type":"started","at":1,"step":0}', "/3/step"],
    ['{"type":"started","at":1,"step":1,"more":1}', "/3"],
  ])("the line %s is unreadable, with its place", (line, path) => {
    const fault = { code: "PAWL_EVENT_UNREADABLE", disposition: "park", path };
    expect(() => parseEvent(line, 3)).toThrow(expect.objectContaining(fault));
  });

  test("an inbox entry that cannot be read is none", () => {
    expect(parseHappening("{")).toBeNull();
    expect(parseHappening('{"kind":"dance","id":"1"}')).toBeNull();
    expect(parseHappening('{"kind":"cancel","id":"1","why":""}')).toMatchObject({ kind: "cancel" });
  });
});
