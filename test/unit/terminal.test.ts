import { describe, expect, test } from "vitest";
import type { AgentDefinition } from "../../src/agents/agent.ts";
import type { Json } from "../../src/core/json.ts";
import type { Fact } from "../../src/core/fact.ts";
import type { RunState } from "../../src/core/run-state.ts";
import { checkTerminal, postconditionQuestions } from "../../src/core/terminal.ts";
import { orderDomain } from "../support/order-agent.ts";
import { callOf, factOf, runningState } from "../support/run-fixture.ts";

const PAID = factOf("order.paid", true);

function setup(facts: readonly Fact[] = [PAID], pack: Partial<AgentDefinition> = {}) {
  const { agent } = orderDomain(pack);
  const state = runningState(agent, { facts: [...facts] });
  const ruleOn = (over: Partial<RunState>, tool: string, args: Json) =>
    checkTerminal({ ...state, ...over }, callOf(tool, args), agent);
  const rule = (tool: string, args: Json) => ruleOn({}, tool, args);
  const streaks = (changes: Partial<RunState["streaks"]>) => ({
    streaks: { ...state.streaks, ...changes },
  });
  return { agent, state, rule, ruleOn, streaks };
}

describe("answer_user", () => {
  test("a supported answer leaves with its claims", () => {
    const args = { message: "It is paid.", claims: [{ fact: "order.paid" }] };
    expect(setup().rule("answer_user", args)).toEqual({
      do: "answer",
      message: "It is paid.",
      claims: [{ factId: "f1", key: "order.paid", value: true }],
    });
  });

  test("claims may be left out where nothing is claimed", () => {
    expect(setup().rule("answer_user", { message: "Hello." })).toMatchObject({ do: "answer" });
  });

  test.each([
    ["no message", {}],
    ["an empty message", { message: "" }],
    ["a claim as a text", { message: "x", claims: ["order.paid"] }],
    ["an unknown field", { message: "x", approved: true }],
  ])("%s is invalid", (_name, args) => {
    expect(setup().rule("answer_user", args)).toMatchObject({ do: "invalid" });
  });

  test("an unsupported answer is sent back once, then a person must come", () => {
    const { ruleOn, streaks } = setup();
    const args = { message: "You get 500." };
    expect(ruleOn({}, "answer_user", args)).toMatchObject({
      do: "send_back",
      code: "claims_unsupported",
      unsupported: ["500"],
    });
    expect(ruleOn(streaks({ claimsSentBack: 1 }), "answer_user", args)).toMatchObject({
      do: "stop",
      stop: { status: "handoff", reason: "claims_unsupported" },
    });
  });
});

describe("the postcondition", () => {
  const pack = { postcondition: [{ fact: "order.paid", equals: true }] };
  const args = { message: "Hello." };

  test("an answer with the goal open is sent back once, then a person must come", () => {
    const { ruleOn, streaks } = setup([], pack);
    expect(ruleOn({}, "answer_user", args)).toMatchObject({
      do: "send_back",
      code: "postcondition_unmet",
      unsupported: ["order.paid equals true"],
    });
    expect(ruleOn(streaks({ postconditionSentBack: 1 }), "answer_user", args)).toMatchObject({
      stop: { status: "handoff", reason: "postcondition_unmet" },
    });
  });

  test("the two ways to be sent back are counted apart", () => {
    const { ruleOn, streaks } = setup([], pack);
    const over = streaks({ claimsSentBack: 1 });
    expect(ruleOn(over, "answer_user", args)).toMatchObject({ code: "postcondition_unmet" });
  });

  test("support comes before the goal", () => {
    const { rule } = setup([], pack);
    expect(rule("answer_user", { message: "500" })).toMatchObject({ code: "claims_unsupported" });
  });

  test("an open question of a verdict keeps nobody from answering", () => {
    const { state, ruleOn } = setup();
    const [question] = postconditionQuestions(setup([], pack).agent);
    const questions = [
      { ...question, condition: null, pointers: ["/x"] },
    ] as typeof state.questions;
    expect(ruleOn({ questions }, "answer_user", args)).toMatchObject({ do: "answer" });
  });

  test("each condition opens a question, except that something is not there", () => {
    const { agent } = setup([], {
      postcondition: [
        { fact: "order.paid", exists: true },
        { fact: "order.status", exists: false },
      ],
    });
    expect(postconditionQuestions(agent)).toMatchObject([
      { id: "q1", text: "order.paid exists", open: true },
      { id: "q2", text: "order.status does not exist", open: false },
    ]);
  });
});

describe("ask_clarification", () => {
  test("a question is a question", () => {
    expect(setup().rule("ask_clarification", { question: "Which order?" })).toEqual({
      do: "question",
      question: "Which order?",
    });
  });

  test("it may state what any fact says and nothing else", () => {
    const { rule } = setup([factOf("order.items", 20)]);
    expect(rule("ask_clarification", { question: "Is it 20?" })).toMatchObject({ do: "question" });
    expect(rule("ask_clarification", { question: "Is it 30?" })).toMatchObject({ do: "send_back" });
  });
});

describe("request_handoff", () => {
  test("a handoff always goes through", () => {
    const ruling = setup().rule("request_handoff", { summary: "It is paid." });
    expect(ruling).toEqual({ do: "handoff", summary: "It is paid.", customerMessage: null });
  });

  test.each([
    "It was probably stolen.",
    "Perhaps it is paid",
    "The courier might know",
    "It seems fine",
    "I suspect fraud",
  ])("a guess is withheld: %s", (text) => {
    const args = { summary: text, customerMessage: text };
    expect(setup().rule("request_handoff", args)).toEqual({
      do: "handoff",
      summary: null,
      customerMessage: null,
    });
  });

  test("a text without support is withheld, the other one stays", () => {
    const args = { summary: "Refund of 500 is due.", customerMessage: "A colleague will answer." };
    expect(setup().rule("request_handoff", args)).toEqual({
      do: "handoff",
      summary: null,
      customerMessage: "A colleague will answer.",
    });
  });

  test("the arguments are checked like any other", () => {
    expect(setup().rule("request_handoff", {})).toMatchObject({ do: "invalid" });
    expect(setup().rule("request_handoff", [])).toMatchObject({ do: "invalid" });
  });
});
