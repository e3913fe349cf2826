/** A cancel while a call is out: its signal is aborted and the run ends at once, nothing unsaid. */
import { expect, test } from "vitest";
import { openCrew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, modelOf, reply, scriptOf } from "../support/model.ts";

const CANCEL = { kind: "cancel" as const, id: "e-1", why: "wrong ticket" };
const CANCELLED = { status: "cancelled", reason: "by_operator" };

/** Comes when the signal is aborted; a handler that ignores its signal would hang for ever. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

test("a read in flight is aborted, and the model is not asked again", async () => {
  const model = scriptOf([GET_ORDER, ANSWER]);
  const crew = await openCrew(model);
  const gate = createGate();
  crew.books.before = (_run, { signal }) => {
    void gate.wait();
    return aborted(signal);
  };
  await crew.hire();
  const runId = await crew.accept();
  await gate.reached;
  await crew.post(runId, CANCEL);
  expect(await crew.ended(runId)).toMatchObject({ ...CANCELLED, step: 1, cancelled: CANCEL.why });
  expect(model.requests).toHaveLength(1);
  const ended = (await crew.events(runId)).at(-1);
  expect(ended).toMatchObject({ type: "ended", detail: CANCEL.why });
});

test("a model call in flight is aborted", async () => {
  const gate = createGate();
  const model = modelOf((_request, signal) => {
    void gate.wait();
    return aborted(signal);
  });
  const crew = await openCrew(model);
  await crew.hire();
  const runId = await crew.accept();
  await gate.reached;
  await crew.post(runId, CANCEL);
  expect(await crew.ended(runId)).toMatchObject({ ...CANCELLED, spent: { steps: 0 } });
});

test.each([
  ["that happened is known as done", true, "succeeded", "done"],
  ["that did not happen is known as failed", false, "failed", "failed"],
] as const)("a write in flight %s", async (_name, happens, outcome, state) => {
  const note = reply(["add_note", { orderId: "A-1", value: "x" }]);
  const crew = await openCrew(scriptOf([note, ANSWER]));
  const gate = createGate();
  crew.books.before = (run, { signal }) => {
    if (happens) crew.books.effects.set(run.key ?? "", run);
    void gate.wait();
    return aborted(signal);
  };
  await crew.hire();
  const runId = await crew.accept();
  await gate.reached;
  await crew.post(runId, CANCEL);
  const ended = await crew.ended(runId);
  expect(ended).toMatchObject({ ...CANCELLED, calls: [{ tool: "add_note", outcome }] });
  const key = crew.books.handlerRuns[0]?.key ?? "";
  expect(await crew.ledger.row(key)).toMatchObject({ state });
});

test("a cancel of another run interrupts nobody else", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]));
  const gate = createGate();
  const signals: AbortSignal[] = [];
  crew.books.before = (_run, { signal }) => {
    signals.push(signal);
    return gate.wait();
  };
  await crew.hire();
  const [cancelled, other] = [await crew.accept("T-1"), await crew.accept("T-2")];
  await gate.reached;
  await crew.post(cancelled, CANCEL);
  expect(await crew.ended(cancelled)).toMatchObject(CANCELLED);
  gate.open();
  expect(await crew.ended(other)).toMatchObject({ status: "completed", reason: "answered" });
  // Of the two calls only one was aborted.
  expect(signals.filter((signal) => signal.aborted).length).toBeLessThanOrEqual(1);
});

test("a worker whose connection for interrupts is gone hears of the cancel at its next step", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]));
  const gate = createGate();
  crew.books.before = () => gate.wait();
  await crew.hire();
  const runId = await crew.accept();
  await gate.reached;
  await crew.redis.call("CLIENT", "KILL", "TYPE", "pubsub");
  await crew.post(runId, CANCEL);
  gate.open();
  expect(await crew.ended(runId)).toMatchObject({ ...CANCELLED, spent: { steps: 1 } });
});
