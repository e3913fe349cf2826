import { describe, expect, test } from "vitest";
import { digest } from "../../src/core/call-key.ts";
import { firstDifference } from "../../src/core/first-difference.ts";
import type { Json } from "../../src/core/json.ts";
import type { Fact } from "../../src/core/fact.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { referencedCalls, traceOf } from "../../src/core/trace.ts";
import { traceLines } from "../../src/cli/trace.ts";
import { factOf } from "../support/run-fixture.ts";
import {
  answeredRun,
  calledEvent,
  handedOver,
  readEvents,
  RESULT,
  told,
  type ToldRun,
} from "../support/told-run.ts";

const NONE: ReadonlyMap<string, string> = new Map();
const TEXT = JSON.stringify(RESULT);

function trace({ state, lines }: Pick<ToldRun, "state" | "lines">, results = NONE) {
  return traceOf({ state, lines, results });
}

/** The run with its fact changed in the snapshot, not in the journal. */
function withFact(run: ToldRun, changes: Partial<Fact>): RunState {
  return { ...run.state, facts: run.state.facts.map((fact) => ({ ...fact, ...changes })) };
}

/** The run with one journal line changed as text. */
function rewritten(run: ToldRun, type: string, change: (line: string) => string): ToldRun {
  const at = run.events.findIndex((event) => event.type === type);
  return { ...run, lines: run.lines.map((line, i) => (i === at ? change(line) : line)) };
}

test("a claim is traced to the recorded value", () => {
  const seen = trace(answeredRun());
  expect(seen).toEqual({
    id: "run-1",
    status: "completed",
    reason: "answered",
    outcome: "answer",
    ok: true,
    broken: null,
    claims: [
      {
        factId: "f1",
        key: "order.status",
        value: "delivered",
        source: {
          step: 1,
          tool: "get_order",
          callId: "c1",
          pointer: "/status",
          observedAt: expect.any(Number),
          partial: false,
        },
        call: { args: { orderId: "A-1" }, reason: "to see" },
        recorded: {
          in: "journal",
          chars: TEXT.length,
          digest: digest(TEXT),
          value: "delivered",
        },
        broken: null,
      },
    ],
  });
});

test("a handoff's known facts are traced, and so are those of a run that goes on", () => {
  const events = readEvents();
  expect(trace(handedOver(events))).toMatchObject({
    outcome: "handoff",
    ok: true,
    claims: [{ factId: "f1" }],
  });
  expect(trace(told(events))).toMatchObject({
    outcome: null,
    ok: true,
    claims: [{ factId: "f1" }],
  });
});

test("an answer that claims nothing has nothing to prove", () => {
  expect(trace(answeredRun(calledEvent(), []))).toMatchObject({ ok: true, claims: [] });
});

describe("a result under its own key", () => {
  const { result: _inline, ...called } = calledEvent();
  const referring = { ...called, ref: { bytes: TEXT.length, preview: "{" } };

  test("is read by reference", () => {
    const run = answeredRun(referring);
    expect(referencedCalls(run.events)).toEqual(["c1"]);
    expect(trace(run, new Map([["c1", TEXT]]))).toMatchObject({
      ok: true,
      claims: [{ recorded: { in: "reference", value: "delivered" } }],
    });
  });

  test("that is gone or changed by one byte is told", () => {
    const run = answeredRun(referring);
    expect(trace(run)).toMatchObject({ ok: false, claims: [{ broken: { link: "result" } }] });
    const changed = new Map([["c1", TEXT.replace("delivered", "deliverec")]]);
    expect(trace(run, changed)).toMatchObject({
      ok: false,
      claims: [{ broken: { link: "digest" } }],
    });
  });
});

describe("a broken link is named", () => {
  const run = answeredRun();

  test.each<[string, string, Pick<ToldRun, "state" | "lines">]>([
    ["a fact that is gone", "claim", { ...run, state: { ...run.state, facts: [] } }],
    ["a fact with another value", "claim", { ...run, state: withFact(run, { value: "lost" }) }],
    ["a fact with another source", "fact", { ...run, state: withFact(run, { pointer: "/paid" }) }],
    ["a fact of another time", "fact", { ...run, state: withFact(run, { observedAt: 1 }) }],
    ["a failed call", "call", answeredRun(calledEvent({ outcome: "unknown" }))],
    ["a call of another tool", "call", answeredRun(calledEvent({ tool: "search_kb" }))],
    [
      "a call of another step",
      "call",
      answeredRun(calledEvent(), [factOf("order.status", 1, { step: 2 })]),
    ],
    [
      "a call that nobody decided",
      "step",
      rewritten(run, "decided", (line) => line.replace(`"id":"c1"`, `"id":"c7"`)),
    ],
    [
      "a recorded result with one byte changed",
      "digest",
      rewritten(run, "called", (line) => line.replace("delivered", "deliverec")),
    ],
    ["a digest that was left out", "digest", rewritten(run, "called", withoutDigest)],
    [
      "a journal line with a byte that parsing does not see",
      "result",
      rewritten(run, "called", (line) => line.replace(`"paid":true`, `"paid": true`)),
    ],
    [
      "a pointer to nothing",
      "pointer",
      answeredRun(calledEvent(), [factOf("order.status", "delivered", { pointer: "/nothing" })]),
    ],
    [
      "a fact that the result does not say",
      "value",
      answeredRun(calledEvent(), [factOf("order.status", "lost", { pointer: "/status" })]),
    ],
  ])("%s: %s", (_, link, changed) => {
    const seen = trace(changed);
    expect(seen).toMatchObject({ ok: false, claims: [{ broken: { link } }] });
    expect(traceLines(seen).join("\n")).toContain(`broken    ${link}: `);
  });

  test("an outcome that the journal did not end with", () => {
    const { outcome } = run.state;
    if (outcome?.kind !== "answer") throw new Error("the fixture is an answer");
    const state = { ...run.state, outcome: { ...outcome, message: "It was lost." } };
    const seen = trace({ ...run, state });
    expect(seen).toMatchObject({ ok: false, broken: { link: "outcome" } });
    expect(seen.broken?.detail).toContain("/message");
  });
});

function withoutDigest(line: string): string {
  return line.replace(/"digest":"[0-9a-f]+",/, "");
}

describe("a partial fact", () => {
  const partOf = (whole: Json, part: Json) => {
    const result = { whole };
    const called = calledEvent({ result, digest: digest(JSON.stringify(result)) });
    const fact = factOf("kb.hits", part, { pointer: "/whole", partial: true });
    return trace(answeredRun(called, [fact]));
  };

  test.each<[string, Json, Json]>([
    ["of a text", "abcdef", "abc"],
    ["of a list", [1, { a: 2 }, 3], [1, { a: 2 }]],
    ["of an object", { a: 1, b: 2 }, { a: 1 }],
    ["without an item", ["a long one"], []],
  ])("%s holds the beginning of its value", (_, whole, part) => {
    const seen = partOf(whole, part);
    expect(seen.ok).toBe(true);
    expect(seen.claims[0]?.recorded).not.toHaveProperty("value");
  });

  test.each<[string, Json, Json]>([
    ["of a text", "abcdef", "abd"],
    ["of a list", [1, 2, 3], [1, 3]],
    ["of a shorter list", [1], [1, 2]],
    ["of an object with another first name", { a: 1, b: 2 }, { b: 2 }],
    ["of an object with another value", { a: 1, b: 2 }, { a: 2 }],
    ["of another kind", { a: 1 }, "{"],
    ["that can have no part", 12, 1],
  ])("%s with something else is broken", (_, whole, part) => {
    expect(partOf(whole, part)).toMatchObject({
      ok: false,
      claims: [{ broken: { link: "value" } }],
    });
  });
});

test("what cannot be folded is unreadable, not merely broken", () => {
  const { state, lines } = answeredRun();
  expect(() => trace({ state, lines: lines.slice(1) })).toThrow(/cannot begin with/);
  expect(() => trace({ state, lines: [...lines, "{"] })).toThrow(/not JSON/);
});

test("a trace is told to people claim by claim", () => {
  const text = traceLines(trace(answeredRun())).join("\n");
  expect(text).toContain(`order.status = "delivered"`);
  expect(text).toContain("f1, step 1, c1 get_order /status");
  expect(text).toContain("1 of 1 claims traced to the recorded bytes");
});

test.each<[Json, Json, string | null]>([
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, null],
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, "/a/1/b"],
  [{ b: 1, a: 1 }, { b: 2, a: 2 }, "/a"],
  [[1], [1, 2], "/1"],
  [{}, { "a/b": null }, "/a~1b"],
  [{ constructor: 1 }, {}, "/constructor"],
  [[], {}, ""],
  [null, 0, ""],
])("the first difference of %j and %j is at %j", (a, b, path) => {
  expect(firstDifference(a, b)).toBe(path);
});
