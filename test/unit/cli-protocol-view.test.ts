import { describe, expect, test } from "vitest";
import { expectedText, runLines, stepLines, totalsOf } from "../../src/cli/protocol-view.ts";
import { moneyText, oneLine, plain, tableLines, timeText } from "../../src/cli/table.ts";
import type { Event } from "../../src/core/event.ts";
import { viewOf } from "../../src/core/run-view.ts";
import { AT, callOf } from "../support/run-fixture.ts";
import {
  answeredRun,
  answerEvents,
  decidedEvent,
  handedOver,
  readEvents,
  told,
  type ToldRun,
} from "../support/told-run.ts";

function shown({ state, events }: ToldRun): string {
  return runLines(viewOf(state, events, { parked: false })).join("\n");
}

function refusedStep(message: string): Event {
  const refused = { callId: "c3", tool: "nope", code: "unknown_tool" as const, terminal: false };
  return { at: AT, step: 2, type: "refused", ...refused, message };
}

test("an answered run is told from its header to its claims", () => {
  const text = shown(answeredRun());
  for (const line of [
    "run run-1  completed/answered",
    "agent      orders 1",
    "ticket     T-1",
    "step 1  get_order  confirmed",
    "reason     to see",
    `args       {"orderId":"A-1"}`,
    `expected   orderId "a-1": the result exists`,
    "verdict    confirmed",
    "permission allow by rule declared_tool",
    "m: 100 + 20 tokens (40 cached), context 1, $0.000003; so far 120 tokens, $0.000003",
    "time       20 ms: decide 5, act 9",
    "step 2  answer_user  completed/answered",
    "so far 240 tokens, $0.000006",
    "step 1, c1 get_order /status",
    "    It was delivered.",
    "answer      message m1 above",
    `f1  order.status = "delivered"`,
  ]) {
    expect(text).toContain(line);
  }
});

test("nothing is coloured where there is no terminal", () => {
  expect(shown(answeredRun())).not.toContain("\u001b");
});

test("a handoff is told with what is known, unknown, contradicting and tried", () => {
  const text = shown(handedOver(readEvents()));
  expect(text).toMatch(/known\n {4}f1 {2}order\.status = "delivered"/);
  expect(text).toMatch(/unknown +none/);
  expect(text).toMatch(/contradicting\n {4}shop_and_carrier\n.*f1 .*\n.*f9 .*"in_transit"/);
  expect(text).toMatch(/tried\n {4}step 1 {2}get_order \{"orderId":"A-1"\} {2}succeeded/);
});

test("a refused decision says why", () => {
  const call = callOf("nope", {}, { id: "c3" });
  const { state, events } = told([
    ...readEvents(),
    decidedEvent(2, call),
    refusedStep("there is no such tool"),
  ]);
  const text = runLines(viewOf(state, events, { parked: false })).join("\n");
  expect(text).toContain("step 2  nope  unknown_tool");
  expect(text).toContain("error      there is no such tool");
});

test("a step without totals tells its own cost only", () => {
  const { state, events } = answeredRun();
  const [row] = viewOf(state, events, { parked: false }).steps;
  if (row === undefined) throw new Error("the fixture has a step");
  expect(stepLines(row).join("\n")).not.toContain("so far");
  expect(totalsOf([row, row])).toEqual({ tokens: 240, moneyMicroUsd: 6 });
});

test("what others wrote cannot steer the terminal, and long texts are cut", () => {
  const hostile = `\u001b[2J\u009b31m\u202e${"x".repeat(1_000)}`;
  const [decided, sent, ended] = answerEvents();
  if (sent?.type !== "sent" || decided === undefined || ended === undefined) {
    throw new Error("the fixture sends a message");
  }
  const call = callOf("nope", { hostile }, { id: "c3", reason: hostile });
  const text = shown(
    told([
      ...readEvents(),
      decidedEvent(2, call),
      refusedStep(hostile),
      { ...sent, message: { ...sent.message, text: `${hostile}\nsecond line` } },
      ended,
    ]),
  );
  // oxlint-disable-next-line no-control-regex -- what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(text).toContain("\\u001b[2J\\u009b31m\\u202e");
  const longest = Math.max(...text.split("\n").map((line) => line.length));
  // The message itself is shown whole; everything else is cut.
  expect(longest).toBeLessThan(1_100);
  expect(text).toContain("    second line");
});

describe("an expectation", () => {
  test("is a sentence", () => {
    const fields = [
      { pointer: "/status", check: "in", values: ["a", "b"] },
      { pointer: "/paid", check: "equals", value: true },
    ];
    expect(expectedText({ about: { orderId: "A-1" }, fields, closes: "q1" })).toBe(
      `orderId "A-1": /status is one of ["a","b"], /paid equals true; closes q1`,
    );
  });

  test("that is none is shown as it came", () => {
    expect(expectedText("to learn more")).toBe(`"to learn more"`);
  });
});

describe("a table", () => {
  test("has aligned columns and no trailing space", () => {
    const columns = [{ title: "run" }, { title: "steps", isNumber: true }, { title: "status" }];
    expect(
      tableLines(columns, [
        ["r1", "10", "queued"],
        ["run-22", "3", ""],
      ]),
    ).toEqual(["run     steps  status", "r1         10  queued", "run-22      3"]);
  });

  test("shows money, time and text in one way", () => {
    expect(moneyText(15_450)).toBe("$0.015450");
    expect(timeText(AT)).toBe("2025-06-15 15:06:40Z");
    expect(timeText(null)).toBe("-");
    expect(timeText(1e300)).toBe("1e+300");
    expect(oneLine("a\n b\tc", 10)).toBe("a b c");
    expect(oneLine("abcdef", 4)).toBe("abc…");
    expect(plain("a\r\nb")).toBe("a\\u000d\nb");
  });
});
