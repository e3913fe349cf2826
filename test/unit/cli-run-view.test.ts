import { expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import type { Approval } from "../../src/core/approval.ts";
import { viewOf } from "../../src/core/run-view.ts";
import { AT } from "../support/run-fixture.ts";
import { answeredRun, calledEvent, readEvents, told } from "../support/told-run.ts";

const LIVE = { parked: false };

const APPROVAL: Approval = {
  id: "run-1-a1",
  step: 2,
  callId: "c2",
  terminal: "request_refund_approval",
  tool: "refund_order",
  args: { orderId: "A-1" },
  argsHash: "h",
  key: "refund_order:k",
  policyVersion: "1",
  heard: 0,
  requestedAt: AT,
  expiresAt: AT + 60_000,
  status: "pending",
  by: null,
  note: null,
};

const WAITING: Event[] = [
  ...readEvents(),
  { at: AT, step: 2, type: "approval_requested", approval: APPROVAL },
  { at: AT, step: 2, type: "parked", for: "approval", until: AT + 60_000 },
];

test("an ended run is shown with everything that the contract names", () => {
  const { state, events } = answeredRun();
  const view = viewOf(state, events, LIVE);
  expect(view).toMatchObject({
    id: "run-1",
    agent: { name: "orders", version: "1" },
    ticketId: "T-1",
    status: "completed",
    reason: "answered",
    waiting: null,
    step: 2,
    steps: [
      {
        step: 1,
        tool: "get_order",
        args: { orderId: "A-1" },
        reason: "to see",
        verdict: "confirmed",
        permission: { answer: "allow", rule: "declared_tool" },
        error: null,
        tokens: { input: 100, cached: 40, output: 20 },
        moneyMicroUsd: 3,
        ms: { decide: 5, act: 9, total: 20 },
      },
      { step: 2, tool: "answer_user", status: "completed" },
    ],
    facts: [
      {
        id: "f1",
        key: "order.status",
        value: "delivered",
        step: 1,
        callId: "c1",
        pointer: "/status",
        observedAt: AT,
      },
    ],
    openQuestions: [],
    contradictions: [],
    budget: { limits: state.limits, spent: { steps: 2, tokens: 240 }, reserved: null },
    paidButLost: 0,
    approvals: [],
    outcome: { kind: "answer" },
    resumes: 0,
    createdAt: AT,
    endedAt: AT + 1_000,
  });
});

test("the step that ends a run took at least as long as its phases", () => {
  const { state, events } = answeredRun();
  expect(viewOf(state, events, LIVE).steps[1]?.ms).toEqual({ decide: 5, act: 0, total: 5 });
});

test("a waiting run has no reason and says for what it waits, with the approval last", () => {
  const { state, events } = told(WAITING);
  expect(viewOf(state, events, LIVE)).toMatchObject({
    status: "waiting",
    reason: null,
    waiting: { for: "approval", until: AT + 60_000 },
    approvals: [{ id: "run-1-a1", status: "pending" }],
    outcome: null,
    endedAt: null,
  });
});

test("a run that was parked as unreadable has failed, whatever its snapshot says", () => {
  const { state, events } = told(WAITING);
  expect(viewOf(state, events, { parked: true })).toMatchObject({
    status: "failed",
    reason: "unreadable_state",
    waiting: null,
  });
});

test("a step that carries out an approved effect is told with its tool", () => {
  const effect = calledEvent({ step: 3, callId: "c2", tool: "refund_order", effect: "write" });
  const happening = {
    kind: "approval_decision" as const,
    id: "h1",
    approvalId: "run-1-a1",
    decision: "approved" as const,
    by: "Ann",
    note: null,
    argsHash: "h",
  };
  const { state, events } = told([
    ...WAITING,
    { at: AT, step: 2, type: "step_ended", ms: 1 },
    { at: AT, step: 3, type: "observed", happening },
    effect,
    { at: AT, step: 3, type: "approval_settled", approvalId: "run-1-a1", status: "used", why: "" },
  ]);
  const view = viewOf(state, events, LIVE);
  expect(view.steps.at(-1)).toMatchObject({ step: 3, tool: "refund_order", reason: null });
  expect(view.approvals).toMatchObject([{ status: "used", by: "Ann" }]);
});

test("only open questions are listed", () => {
  const { events } = answeredRun();
  const [accepted, ...rest] = events;
  const question = {
    id: "q1",
    text: "order.status exists",
    condition: null,
    pointers: [],
    about: {},
    closedBy: null,
  };
  const asked = {
    ...(accepted as Extract<Event, { type: "accepted" }>),
    questions: [
      { ...question, open: true },
      { ...question, id: "q2", open: false },
    ],
  };
  const { state } = told([asked, ...rest]);
  expect(viewOf(state, events, LIVE).openQuestions).toEqual([
    { id: "q1", text: "order.status exists", about: {} },
  ]);
});
