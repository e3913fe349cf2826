/** What an operator tells a run: the customer's reply, and that it shall end. */
import { expect, test } from "vitest";
import {
  ANSWER,
  ASK_CUSTOMER,
  caseOf,
  linesOf,
  openDesk,
  REFUND,
  refusalOf,
} from "../support/operator-desk.ts";

async function asking(file = caseOf([ASK_CUSTOMER, ANSWER])) {
  const desk = await openDesk();
  await desk.hire();
  const runId = await desk.begin(file);
  await desk.waiting(runId);
  return { ...desk, runId };
}

test("a reply wakes the run that asked", async () => {
  const { pawl, ended, runId } = await asking();
  const [said] = await linesOf(pawl("reply", runId, "It is A-1.", "--json"));
  expect(said).toMatchObject({ run: runId, posted: "user_reply", id: expect.any(String) });
  expect(await ended(runId)).toMatchObject({
    reason: "answered",
    replies: [{ text: "It is A-1." }],
  });
});

test("a cancel ends the run that waits, with the reason", async () => {
  const { pawl, ended, runId, world } = await asking(REFUND);
  const said = await pawl("cancel", runId, "--why", "settled by phone");
  expect(said).toMatchObject({ code: 0, stderr: "" });
  expect(said.stdout).toContain("cancelled/by_operator");
  expect(await ended(runId)).toMatchObject({
    status: "cancelled",
    reason: "by_operator",
    outcome: { detail: "settled by phone" },
  });
  expect((await world(runId)).effects).toEqual({});
});

test("an ended run takes neither in and says how it ended", async () => {
  const { pawl, ended, state, runId } = await asking();
  await pawl("reply", runId, "It is A-1.");
  const before = await ended(runId);
  for (const words of [
    ["reply", runId, "And A-2?"],
    ["cancel", runId, "--why", "no more"],
  ]) {
    expect(await refusalOf(pawl(...words, "--json"))).toEqual({
      code: "run_ended",
      message: `run ${runId} has ended as completed/answered`,
    });
  }
  expect((await pawl("reply", runId, "And A-2?")).stderr).toMatch(/^run_ended: /);
  expect(await state(runId)).toEqual(before);
});

test.each([
  [["reply", "no-such-run", "hello"], 1, "PAWL_RUN_NOT_FOUND"],
  [["reply", "no such run", "hello"], 1, "PAWL_RUN_NOT_FOUND"],
  [["cancel", "no-such-run", "--why", "x"], 1, "PAWL_RUN_NOT_FOUND"],
  [["reply", "no-such-run", " "], 2, "PAWL_USAGE"],
  [["cancel", "no-such-run", "--why", ""], 2, "PAWL_USAGE"],
])("%j exits %i with %s", async (args, code, error) => {
  const { pawl } = await openDesk();
  const ran = await pawl(...args, "--json");
  expect(ran).toMatchObject({ code, stdout: "" });
  expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: error } });
});
