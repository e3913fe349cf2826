/** What a worker's log says of its policies: warnings at the start, and a shadow's differences. */
import { describe, expect, test } from "vitest";
import { watchPolicies } from "../../src/app/watched-policies.ts";
import { permit, type Policy } from "../../src/policy/policy.ts";
import { orderDomain } from "../support/order-agent.ts";

const ALLOW = { answer: "allow", rule: "a", reason: "because of c-17" };
const DENY = { answer: "deny", rule: "d", reason: "because of c-17" };
const saying = (answer: unknown, warnings: readonly string[] = []): Policy => ({
  version: "v",
  warnings,
  decide: () => answer,
});
const REQUEST = {
  runId: "run-1",
  agent: "orders",
  tool: "get_order",
  effect: "read",
  args: { orderId: "A-1" },
  ticketId: "T-1",
  customerId: "c-17",
  facts: {},
} as const;

/** The watched policy of one pack, and its lines as they come. */
function watched(policy: Policy, shadow?: Policy) {
  const lines: unknown[][] = [];
  let hear: () => void = () => undefined;
  const heard = new Promise<void>((resolve) => (hear = resolve));
  const warn = (...line: unknown[]) => {
    lines.push(line);
    hear();
  };
  const { agent } = orderDomain({ policy, ...(shadow === undefined ? {} : { shadow }) });
  const packs = watchPolicies(new Map([["orders", agent]]), { warn });
  return { policy: packs.get("orders")?.policy ?? policy, lines, heard };
}

describe("watched policies", () => {
  test("tell their warnings once, at the start, the shadow's too", () => {
    const { lines } = watched(saying(ALLOW, ["may be missing"]), saying(ALLOW, ["no such tool"]));
    expect(lines).toEqual([
      [{ agent: "orders", warning: "may be missing" }, "policy warning"],
      [{ agent: "orders", shadow: true, warning: "no such tool" }, "policy warning"],
    ]);
  });

  test("enforce the first and log where the shadow differs, by ids and rules alone", async () => {
    const { policy, lines, heard } = watched(saying(ALLOW), saying(DENY));
    expect(await permit(policy, REQUEST)).toEqual(ALLOW);
    await heard;
    expect(lines).toEqual([
      [
        {
          run: "run-1",
          ticket: "T-1",
          agent: "orders",
          tool: "get_order",
          enforced: { answer: "allow", rule: "a" },
          shadow: { answer: "deny", rule: "d" },
        },
        "shadow policy differs",
      ],
    ]);
  });

  test("without a shadow are the policy as it is", () => {
    const given = saying(ALLOW);
    expect(watched(given).policy).toBe(given);
  });
});
