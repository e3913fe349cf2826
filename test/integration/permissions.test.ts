/** One stored permission a call, whatever dies; and caps that hold over runs at the same moment. */
import { expect, test } from "vitest";
import type { PermitRequest, Policy } from "../../src/policy/policy.ts";
import { allowDeclared } from "../../src/policy/policy.ts";
import { customerCap } from "../../src/policy/rule-builders.ts";
import { defineRules } from "../../src/policy/rules.ts";
import type { CrashPoint } from "../../src/step/work.ts";
import { parseEvent } from "../../src/core/event.ts";
import { openCrew } from "../support/crew.ts";
import { createGate } from "../support/gate.ts";
import { ANSWER, GET_ORDER, reply, scriptOf } from "../support/model.ts";
import { slowly, until } from "../support/until.ts";

const NOTE = reply(["add_note", { orderId: "A-1", value: "x" }]);

/** Allows everything and keeps what it was asked; `slow` answers later. */
function counting(slow = false) {
  const asked: PermitRequest[] = [];
  const allow = allowDeclared(["get_order", "add_note"]);
  const policy: Policy = {
    version: "counted",
    async decide(request) {
      asked.push(request);
      if (slow) await slowly();
      return allow.decide(request);
    },
  };
  return { asked, policy };
}

test.each([
  ["before_act", false],
  ["after_act", false],
  ["before_save", false],
  ["before_act", true],
] as const)(
  "three attempts that die at %s ask the policy once (slow: %s)",
  async (point: CrashPoint, slow) => {
    const { asked, policy } = counting(slow);
    const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { policy });
    let deaths = 0;
    await crew.hire({
      reach: async (at, { step }) => {
        if (at !== point || step !== 1 || deaths === 2) return;
        deaths += 1;
        throw new Error(`died at ${at}`);
      },
    });
    const runId = await crew.accept();
    expect(await crew.ended(runId)).toMatchObject({ reason: "answered", resumes: 2 });
    expect(asked).toHaveLength(1);
    const permitted = (await crew.events(runId)).filter((event) => event.type === "permitted");
    expect(permitted).toMatchObject([{ permission: { answer: "allow", rule: "declared_tool" } }]);
  },
);

test("a decision is on disk before a slow policy has answered", async () => {
  const gate = createGate();
  const allow = allowDeclared(["get_order"]);
  const policy: Policy = {
    async decide(request) {
      await gate.wait();
      return allow.decide(request);
    },
  };
  const crew = await openCrew(scriptOf([GET_ORDER, ANSWER]), { policy });
  await crew.hire();
  const runId = await crew.accept();
  await gate.reached;
  await until(async () => ((await crew.store.read(runId))?.journal.length ?? 0) > 0);
  const journal = (await crew.store.read(runId))?.journal.map(parseEvent);
  expect(journal).toMatchObject([{ type: "started" }, { type: "decided" }]);
  gate.open();
  expect(await crew.ended(runId)).toMatchObject({ reason: "answered" });
});

test("of two runs of one customer at the same moment, a cap of one lets one write", async () => {
  const policy = defineRules({
    version: "capped",
    rules: [
      { id: "all", effect: "allow", reason: "", when: () => true },
      customerCap({ id: "one_note", tools: ["add_note"], effect: "deny", max: 1 }),
    ],
  });
  const crew = await openCrew(scriptOf([NOTE, ANSWER]), { policy });
  const gate = createGate();
  let arrived = 0;
  // Both have their permission, for which both were told of no effect, before one of them acts.
  await crew.hire({
    reach: async (at, { step }) => {
      if (at !== "after_journal" || step !== 1) return;
      arrived += 1;
      if (arrived === 2) gate.open();
      await gate.wait();
    },
  });
  const runs = await Promise.all([crew.accept("T-1", "c-1"), crew.accept("T-2", "c-1")]);
  const ends = await Promise.all(runs.map((runId) => crew.ended(runId)));
  expect(new Set(ends.map(({ reason }) => reason))).toEqual(new Set(["answered", "policy_denied"]));
  expect(crew.books.effects.size).toBe(1);
  expect(await crew.ledger.countOf("c-1")).toBe(1);
});
