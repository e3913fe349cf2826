import { describe, expect, test } from "vitest";
import { allowDeclared, permit, type PermitRequest } from "../../src/policy/policy.ts";

const REQUEST: PermitRequest = {
  runId: "run-1",
  agent: "orders",
  tool: "get_order",
  effect: "read",
  args: {},
  ticketId: "T-1",
  customerId: null,
  facts: {},
};
const ALLOW = { answer: "allow", rule: "r1", reason: "" } as const;

const ask = (decide: () => unknown, timeoutMs?: number) => permit({ decide }, REQUEST, timeoutMs);

describe("permit", () => {
  test.each(["allow", "require_approval", "deny"])(
    "%s is given back with its rule",
    async (answer) => {
      const given = { answer, rule: "r1", reason: "because" };
      expect(await ask(() => given)).toEqual(given);
      expect(await ask(() => Promise.resolve(given))).toEqual(given);
    },
  );

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["true", true],
    ["a word", "allow"],
    ["another answer", { ...ALLOW, answer: "ALLOW" }],
    ["no rule", { answer: "allow", reason: "" }],
    ["an empty rule", { ...ALLOW, rule: "" }],
    ["an unknown field", { ...ALLOW, sticky: true }],
    ["a list of an answer", [ALLOW]],
    ["an object in place of an answer", { allow: ALLOW }],
  ])("%s is a denial", async (_name, given) => {
    expect(await ask(() => given)).toMatchObject({ answer: "deny", rule: "policy_answer_invalid" });
  });

  test("an answer that throws when it is read is a denial", async () => {
    const trap = {
      get answer(): never {
        throw new Error("no");
      },
    };
    expect(await ask(() => trap)).toMatchObject({ answer: "deny" });
  });

  test("a policy that throws or rejects is a denial", async () => {
    const failed = { answer: "deny", rule: "policy_failed" };
    const boom = (): never => {
      throw new Error("boom");
    };
    expect(await ask(boom)).toMatchObject(failed);
    expect(await ask(() => Promise.reject(new Error("boom")))).toMatchObject(failed);
    expect(await ask(() => Promise.reject(undefined as unknown as Error))).toMatchObject(failed);
  });

  test("a policy that never settles is a denial in time", async () => {
    const never = () => new Promise<never>(() => undefined);
    expect(await ask(never, 5)).toMatchObject({
      answer: "deny",
      rule: "policy_failed",
      reason: "the policy failed: no answer in 5 ms",
    });
  });
});

test("by default what the agent declares is allowed and nothing else", async () => {
  const policy = allowDeclared(["get_order"]);
  expect(await permit(policy, REQUEST)).toMatchObject({ answer: "allow", rule: "declared_tool" });
  for (const tool of ["drop_all", "constructor", "get_order "]) {
    expect(await permit(policy, { ...REQUEST, tool })).toMatchObject({
      answer: "deny",
      rule: "default_deny",
    });
  }
});
