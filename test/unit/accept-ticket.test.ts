import { describe, expect, test } from "vitest";
import { PawlError } from "../../src/core/errors.ts";
import { acceptTicket, parseTicket } from "../../src/ingest/accept-ticket.ts";
import type { NewRun } from "../../src/store/run-store.ts";
import { orderDomain } from "../support/order-agent.ts";
import { AT } from "../support/run-fixture.ts";

const SECRET = "my card is 4111";

describe("parseTicket", () => {
  test("what may be left out has a default", () => {
    expect(parseTicket({ id: "T-1" })).toEqual({
      id: "T-1",
      subject: "",
      body: "",
      revision: 1,
      attributes: {},
    });
  });

  test.each([
    ["", SECRET],
    ["", null],
    ["", [SECRET]],
    ["/id", { body: SECRET }],
    ["/id", { id: "", body: SECRET }],
    ["/id", { id: SECRET.repeat(20) }],
    ["/body", { id: "T-1", body: [SECRET] }],
    ["/body", { id: "T-1", body: SECRET.repeat(20_000) }],
    ["/revision", { id: "T-1", revision: SECRET }],
    ["/revision", { id: "T-1", revision: 0 }],
    ["/customer/id", { id: "T-1", customer: {} }],
    ["/attributes/a", { id: "T-1", attributes: { a: 1n } }],
  ])("a fault is told by its place %j, never by the text", (place, input) => {
    let fault: unknown;
    try {
      parseTicket(input);
    } catch (error) {
      fault = error;
    }
    if (!(fault instanceof PawlError)) throw new Error("no fault of ours");
    expect(fault).toMatchObject({ code: "PAWL_TICKET_INVALID", disposition: "stop" });
    expect(fault.path === "/" ? "" : fault.path).toBe(place);
    expect(fault.message).not.toContain("4111");
  });

  test("an unknown field is refused", () => {
    expect(() => parseTicket({ id: "T-1", priority: 1 })).toThrow(
      expect.objectContaining({ code: "PAWL_TICKET_INVALID" }),
    );
  });
});

describe("acceptTicket", () => {
  function setup(isCreated = true) {
    const created: NewRun[] = [];
    const create = (run: NewRun) => {
      created.push(run);
      return Promise.resolve(isCreated);
    };
    const deps = { store: { create }, now: () => AT, newId: () => "run-7" };
    const agent = orderDomain({ postcondition: [{ fact: "order.paid", equals: true }] }).agent;
    return { created, deps, agent };
  }

  test("the run begins queued at step 1 with the goal as open questions", async () => {
    const { created, deps, agent } = setup();
    const ticket = parseTicket({ id: "T-1" });
    expect(await acceptTicket(deps, { agent, ticket, limits: { steps: 2 } })).toBe("run-7");
    expect(created).toMatchObject([
      {
        runId: "run-7",
        ticketId: "T-1",
        state: {
          status: "queued",
          step: 1,
          limits: { steps: 2, stepsWithoutProgress: 2 },
          questions: [{ id: "q1", open: true }],
          createdAt: AT,
        },
        events: [{ type: "accepted", runId: "run-7" }],
      },
    ]);
  });

  test("an id that is taken is an error, not a second run", async () => {
    const { deps, agent } = setup(false);
    const ticket = parseTicket({ id: "T-1" });
    await expect(acceptTicket(deps, { agent, ticket })).rejects.toThrow("run-7 is taken");
  });
});
