import fc from "fast-check";
import { expect, test } from "vitest";
import { check } from "../../src/core/check.ts";
import { reserve } from "../../src/core/budget.ts";
import { buildContext } from "../../src/core/context.ts";
import { costOf, type Price } from "../../src/core/price.ts";
import type { ReplyCall, Usage } from "../../src/core/decision.ts";
import { PawlError } from "../../src/core/errors.ts";
import { checkMessage } from "../../src/core/evidence.ts";
import type { Json } from "../../src/core/json.ts";
import { valuesIn } from "../../src/core/message-values.ts";
import { resolvePointer } from "../../src/core/pointer.ts";
import { cut } from "../../src/core/cut.ts";
import { reduce } from "../../src/core/reduce.ts";
import { parseRunState, type RunState } from "../../src/core/run-state.ts";
import { isTerminal, STATUSES, transition, type Status } from "../../src/core/stop.ts";
import { verify } from "../../src/core/verify.ts";
import { whyUnsendable } from "../../src/cases/sendable.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT, factOf, runningState, turnOf } from "../support/run-fixture.ts";
import { failureOf } from "../support/failure-of.ts";

const { agent } = orderDomain();
const base = runningState(agent);

const json = fc
  .jsonValue()
  .filter((value) => !JSON.stringify(value).includes("__proto__")) as fc.Arbitrary<Json>;

test("any chain of moves stays inside the table, and the first terminal status is the last", () => {
  const property = fc.property(fc.array(fc.constantFrom(...STATUSES)), (wanted) => {
    let status: Status = "queued";
    let ended: Status | null = null;
    for (const to of wanted) {
      try {
        status = transition(status, to);
      } catch {
        continue;
      }
      if (ended !== null) return false;
      if (isTerminal(status)) ended = status;
    }
    return STATUSES.includes(status);
  });
  expect(failureOf(property)).toBeUndefined();
});

const perMTok = fc.integer({ min: 0, max: 100_000_000 });
const rates = {
  inputMicroUsdPerMTok: perMTok,
  cachedMicroUsdPerMTok: perMTok,
  cacheWriteMicroUsdPerMTok: perMTok,
  outputMicroUsdPerMTok: perMTok,
};
/** Any rates: a cached token may be dearer than a plain one, a longer input cheaper. */
const price: fc.Arbitrary<Price> = fc.record(
  {
    ...rates,
    tiers: fc.array(fc.record({ aboveInputTokens: fc.nat(60_000), ...rates }), { maxLength: 3 }),
  },
  { requiredKeys: Object.keys(rates) as (keyof typeof rates)[] },
);
const limit = fc.option(fc.nat(200_000));

test("spent and reserved never pass a limit, whatever the call then costs", () => {
  const amounts = fc.record({ tokens: fc.nat(100_000), moneyMicroUsd: fc.nat(100_000) });
  const before = fc.record({
    limits: fc.record({ tokens: limit, moneyMicroUsd: limit }),
    spent: amounts,
    reserved: fc.option(amounts),
  });
  const percent = fc.nat(100);
  const share = fc.record({ input: percent, cached: percent, written: percent, output: percent });
  const property = fc.property(
    before,
    fc.nat(50_000),
    fc.option(price),
    share,
    ({ limits, spent, reserved }, counted, paid, used) => {
      const state = {
        ...base,
        limits: { ...base.limits, ...limits },
        spent: { ...base.spent, ...spent },
        reserved,
      };
      const made = reserve(state, counted, paid);
      if (!made.ok) return true;
      const standing = reserved ?? { tokens: 0, moneyMicroUsd: 0 };
      const tokens = spent.tokens + standing.tokens + made.amount.tokens;
      const money = spent.moneyMicroUsd + standing.moneyMicroUsd + made.amount.moneyMicroUsd;
      // What was counted is an upper bound of what the server then counts.
      const input = Math.floor((counted * used.input) / 100);
      const cached = Math.floor((input * used.cached) / 100);
      const usage: Usage = {
        input,
        cached,
        cacheWrite: Math.floor(((input - cached) * used.written) / 100),
        output: Math.floor((made.outputCap * used.output) / 100),
        reasoning: 0,
      };
      return (
        tokens <= (limits.tokens ?? Infinity) &&
        // A limit binds a model that has a price; one without costs nothing.
        money <= (paid === null ? Infinity : (limits.moneyMicroUsd ?? Infinity)) &&
        costOf(usage, paid) <= made.amount.moneyMicroUsd
      );
    },
  );
  expect(failureOf(property)).toBeUndefined();
});

const toolNames = [...agent.tools.keys(), ...agent.terminals.keys(), "nope", "constructor"];
const replyCall: fc.Arbitrary<ReplyCall> = fc.record({
  id: fc.constantFrom("c1", "c2"),
  tool: fc.oneof(fc.constantFrom(...toolNames), fc.string()),
  args: fc.oneof(
    fc.record({ json }),
    fc.record({ text: fc.string({ unit: "binary" }) }),
    fc.record({ notJson: fc.string() }),
  ),
  reason: fc.string(),
  expected: fc.oneof(
    json,
    fc.constant({ about: { orderId: "A-1" }, fields: [{ pointer: "", check: "exists" }] }),
  ),
});

test("any reply gets a ruling, the same each time, and only a known valid call acts", () => {
  const property = fc.property(
    fc.array(replyCall, { maxLength: 3 }),
    fc.oneof(fc.constantFrom("stop", "tool_calls", "length", "refusal"), fc.string()),
    fc.nat(7),
    (calls, finish, steps) => {
      const turn = turnOf(calls, { finish });
      const state = { ...base, turn, spent: { ...base.spent, steps } };
      const ruling = check(state, turn, agent, AT);
      expect(check(state, turn, agent, AT)).toEqual(ruling);
      return ruling.do !== "act" || (agent.tools.has(ruling.call.tool.name) && steps < 6);
    },
  );
  expect(failureOf(property)).toBeUndefined();
});

test("any result gets a verdict, and every fact is what its pointer finds", () => {
  const tool = agent.tools.get("get_order");
  if (tool === undefined) throw new Error("no tool");
  const result = fc.oneof(
    json,
    fc.record({ orderId: fc.constantFrom<Json>("A-1", "a-1", 7), status: json, paid: json }),
  );
  const property = fc.property(result, fc.string(), (value, pointer) => {
    const seen = verify(base, tool, {
      callId: "c1",
      step: 1,
      args: { orderId: "A-1" },
      expected: { about: { orderId: "A-1" }, fields: [{ pointer, check: "exists" }] },
      result: value,
      at: AT,
    });
    if (seen.verdict === "unconfirmed") return seen.facts.length === 0 && seen.question !== null;
    return seen.facts.every((fact) => {
      const found = resolvePointer(value, fact.pointer);
      return fact.partial || (found.found && Object.is(found.value, fact.value));
    });
  });
  expect(failureOf(property)).toBeUndefined();
});

test("a message leaves only with values that stand in its facts or its ticket", () => {
  const facts = [factOf("order.items", 20), factOf("order.eta", "2026-03-05", { id: "f2" })];
  const state = { ...base, facts };
  const word = fc.oneof(
    fc.constantFrom("20", "200", "$20.00", "2026-03-05", "5 March 2026", "T-1", "A-9", "paid"),
    fc.string({ unit: "grapheme" }),
  );
  const property = fc.property(fc.array(word), (words) => {
    const message = words.join(" ");
    const reading = checkMessage(message, [{ fact: "order.items" }, { fact: "f2" }], state, agent);
    if (!reading.ok) return reading.unsupported.length > 0;
    return valuesIn(reading.message).every(
      ({ number, date, text }) => number === 20 || date === "2026-03-05" || text === "T-1",
    );
  });
  expect(failureOf(property)).toBeUndefined();
});

test("a cut text is whole characters and says that it was cut", () => {
  const property = fc.property(
    fc.string({ unit: "grapheme" }),
    fc.integer({ min: 1, max: 20 }),
    (text, most) => {
      const shown = cut(text, most);
      return text.length <= most
        ? shown === text
        : !/\p{Surrogate}/u.test(shown) && shown.includes("… [cut: ");
    },
  );
  expect(failureOf(property)).toBeUndefined();
});

test("any text in place of a state is unreadable with a place, never anything else", () => {
  const whole = JSON.stringify(base);
  const broken = fc.oneof(
    fc.string(),
    fc.json(),
    fc.nat(whole.length - 1).map((length) => whole.slice(0, length)),
    fc
      .tuple(fc.constantFrom(...Object.keys(base)), json)
      .map(([key, value]) => JSON.stringify({ ...base, [key]: value })),
  );
  const property = fc.property(broken, (text) => {
    try {
      return parseRunState(text).v === 1;
    } catch (error) {
      return error instanceof PawlError && error.code === "PAWL_STATE_UNREADABLE";
    }
  });
  expect(failureOf(property)).toBeUndefined();
});

/** What hostile texts, of which every other character is escaped, make of the bounds at most. */
const MOST_CONTEXT_CHARS = 450_000;

test("the state's context stays bounded however much has happened, and can be sent", () => {
  const long = fc.integer({ min: 0, max: 40_000 }).map((n) => "<\u00e9".repeat(n / 2));
  const many = fc.integer({ min: 0, max: 400 });
  const property = fc.property(fc.record({ n: many, text: long }), ({ n, text }) => {
    const of = <T>(make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
    const question = { condition: null, pointers: [], about: {}, closedBy: null, open: true };
    const call = { step: 1, key: "k", effect: "read" as const, grounds: 0 };
    const lines = of((i) => ({ type: "nudged" as const, at: AT, step: i + 1 }));
    const state = lines.reduce<RunState>((before, event) => reduce(before, event), {
      ...base,
      ticket: { ...base.ticket, body: text, attributes: { text } },
      replies: of((i) => ({ step: i, text })),
      facts: of((i) => factOf(`k.${i}`, text, { id: `f${i}`, about: { orderId: text } })),
      questions: of((i) => ({ ...question, id: `q${i}`, text })),
      calls: of((i) => ({
        ...call,
        id: `c${i}`,
        tool: "get_order",
        shownArgs: "{}",
        outcome: "succeeded" as const,
      })),
      outward: of((i) => ({ id: `m${i}`, kind: "question" as const, step: i, text })),
    });
    const context = buildContext(state, agent, "all");
    const size = JSON.stringify(context).length;
    return size < MOST_CONTEXT_CHARS && whyUnsendable(context) === null;
  });
  expect(failureOf(property)).toBeUndefined();
});
