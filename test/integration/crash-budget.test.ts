/** What counts against a step's crash budget: deaths, and not the stops of a deploy. */
import { expect, test } from "vitest";
import { openCrew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, scriptOf } from "../support/model.ts";

const SHORT_GRACE_MS = 20;

test("a step that five deploys cut short is handed back each time, and its run goes on", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { crashBudget: 2 });
  const runId = await crew.accept();
  for (let deploy = 1; deploy <= 5; deploy += 1) {
    const gate = createGate();
    crew.books.before = () => gate.wait();
    const worker = await crew.hire();
    await gate.reached;
    await worker.close(SHORT_GRACE_MS);
    gate.open();
  }
  crew.books.before = () => Promise.resolve();
  await crew.hire();
  expect(await crew.ended(runId)).toMatchObject({ status: "completed", reason: "answered" });
});

test("a step that throws is no crash, and its run is not ended as a crash loop", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { crashBudget: 1 });
  let throws = 3;
  await crew.hire({
    reach: (point) => {
      if (point !== "before_act" || throws === 0) return Promise.resolve();
      throws -= 1;
      return Promise.reject(new Error("a bug"));
    },
  });
  expect(await crew.ended(await crew.accept())).toMatchObject({ reason: "answered" });
  expect(crew.faults).toHaveLength(3);
});

test("the dump says how the step stood, by names and times alone", async () => {
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { crashBudget: 0 });
  await crew.hire();
  const { status, outcome } = await crew.ended(await crew.accept());
  expect(status).toBe("failed");
  expect(outcome).toMatchObject({
    kind: "stop",
    dump: { step: 1, claims: 1, crashes: 0, faults: 0, onDisk: [], call: null },
  });
});
