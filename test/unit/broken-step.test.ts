/** The crash budget of a step: how often a worker may die in it, and what is said at the end. */
import { describe, expect, test } from "vitest";
import { brokenStep } from "../../src/step/broken-step.ts";
import { orderDomain } from "../support/order-agent.ts";

const { agent } = orderDomain();
const broken = (crashes: number, faults = 0, crashBudget = 3) =>
  brokenStep({
    tries: { claims: crashes + faults + 1, crashes, faults },
    agent: { ...agent, crashBudget },
  });

describe("a step", () => {
  test.each([0, 1, 2])("in which %d workers died is tried again", (crashes) => {
    expect(broken(crashes)).toBeNull();
  });

  test.each([3, 4])("in which %d workers died is not", (crashes) => {
    expect(broken(crashes)).toMatchObject({ status: "failed", reason: "crash_loop" });
  });

  test("has the budget of its agent, and 0 lets it be tried never", () => {
    expect(broken(1, 0, 2)).toBeNull();
    expect(broken(2, 0, 2)).toMatchObject({ reason: "crash_loop" });
    expect(broken(0, 0, 0)).toMatchObject({ reason: "crash_loop" });
  });

  test("that threw nine times is tried again, and after ten it is an internal error", () => {
    expect(broken(0, 9)).toBeNull();
    expect(broken(0, 10)).toMatchObject({ status: "failed", reason: "internal_error" });
  });
});
