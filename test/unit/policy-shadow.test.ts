import { describe, expect, test, vi } from "vitest";
import { allowDeclared, permit, type PermitRequest, type Policy } from "../../src/policy/policy.ts";
import { withShadow, type OnDifference, type PolicyDifference } from "../../src/policy/shadow.ts";

const REQUEST: PermitRequest = {
  runId: "run-1",
  agent: "orders",
  tool: "get_order",
  effect: "read",
  args: { orderId: "A-1" },
  ticketId: "T-1",
  customerId: "c-17",
  facts: {},
};
const ALLOW = { answer: "allow", rule: "a", reason: "" };
const DENY = { answer: "deny", rule: "d", reason: "" };
const saying = (answer: unknown): Policy => ({ decide: () => answer });

/** The first difference that is told; a promise that stays open when there is none. */
function listen() {
  let hear: (difference: PolicyDifference) => void = () => undefined;
  const told = new Promise<PolicyDifference>((resolve) => (hear = resolve));
  const onDifference = vi.fn<OnDifference>((difference) => hear(difference));
  return { told, onDifference };
}

describe("a shadow", () => {
  test("is told where it differs, and the enforced answer is given", async () => {
    const { told, onDifference } = listen();
    const policy = withShadow(saying(ALLOW), saying(DENY), onDifference);
    expect(await permit(policy, REQUEST)).toEqual(ALLOW);
    expect(await told).toEqual({
      runId: "run-1",
      ticketId: "T-1",
      agent: "orders",
      tool: "get_order",
      enforced: ALLOW,
      shadow: DENY,
    });
  });

  test("that denies lets nothing stop, that allows lets nothing through", async () => {
    const noop = () => undefined;
    expect(await permit(withShadow(saying(DENY), saying(ALLOW), noop), REQUEST)).toEqual(DENY);
    expect(await permit(withShadow(saying(ALLOW), saying(DENY), noop), REQUEST)).toEqual(ALLOW);
  });

  test("with the same answer under another rule is no difference", async () => {
    const last = listen();
    const same = vi.fn<OnDifference>();
    await permit(withShadow(saying(ALLOW), saying({ ...ALLOW, rule: "b" }), same), REQUEST);
    // Later calls are told later: when this one is, the one above would have been.
    await permit(withShadow(saying(ALLOW), saying(DENY), last.onDifference), REQUEST);
    await last.told;
    expect(same).not.toHaveBeenCalled();
  });

  test.each<[string, Policy]>([
    [
      "throws",
      {
        decide: () => {
          throw new Error("boom");
        },
      },
    ],
    ["rejects", { decide: () => Promise.reject(new Error("boom")) }],
    ["gives nonsense", saying({ answer: "ALLOW" })],
  ])("that %s counts as a denial and costs nothing", async (_name, shadow) => {
    const { told, onDifference } = listen();
    expect(await permit(withShadow(saying(ALLOW), shadow, onDifference), REQUEST)).toEqual(ALLOW);
    expect((await told).shadow).toMatchObject({ answer: "deny" });
  });

  test("that never settles is not waited for", async () => {
    const never = { decide: () => new Promise(() => undefined) };
    const policy = withShadow(saying(ALLOW), never, () => undefined);
    expect(await permit(policy, REQUEST, 500)).toEqual(ALLOW);
  });

  test("cannot change the call that the enforced policy allows", async () => {
    const { told, onDifference } = listen();
    const meddling: Policy = {
      decide(request) {
        Object.assign(request.args, { orderId: "B-2" });
        return DENY;
      },
    };
    const request = structuredClone(REQUEST);
    await permit(withShadow(saying(ALLOW), meddling, onDifference), request);
    await told;
    expect(request).toEqual(REQUEST);
  });

  test.each<[string, () => void | Promise<void>]>([
    [
      "throws",
      () => {
        throw new Error("full disk");
      },
    ],
    ["rejects", () => Promise.reject(new Error("full disk"))],
  ])("whose listener %s changes nothing", async (_name, fail) => {
    const { told, onDifference } = listen();
    const policy = withShadow(saying(ALLOW), saying(DENY), (difference) => {
      void onDifference(difference);
      return fail();
    });
    expect(await permit(policy, REQUEST)).toEqual(ALLOW);
    await told;
    expect(await permit(policy, REQUEST)).toEqual(ALLOW);
  });
});

test("an enforced policy that throws denies, shadow or not", async () => {
  const boom = {
    decide: () => {
      throw new Error("boom");
    },
  };
  const policy = withShadow(boom, saying(ALLOW), () => undefined);
  expect(await permit(policy, REQUEST)).toMatchObject({ answer: "deny", rule: "policy_failed" });
});

test("approvals bind to the enforced policy's version", () => {
  const [first, second] = [allowDeclared(["a"]), allowDeclared(["b"])];
  expect(withShadow(first, second, () => undefined).version).toBe(first.version);
  expect(first.version).not.toBe(second.version);
  expect(allowDeclared(["b", "a"]).version).toBe(allowDeclared(["a", "b"]).version);
  expect("version" in withShadow(saying(ALLOW), second, () => undefined)).toBe(false);
});
