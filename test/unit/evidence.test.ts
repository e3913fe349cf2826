import { describe, expect, test } from "vitest";
import { checkMessage, renderTemplate, type Claim } from "../../src/core/evidence.ts";
import type { Json } from "../../src/core/json.ts";
import type { Fact } from "../../src/core/fact.ts";
import { ticketSchema } from "../../src/core/ticket.ts";
import { orderDomain } from "../support/order-agent.ts";
import { factOf, runningState } from "../support/run-fixture.ts";

function setup(facts: readonly Fact[] = [], ticket: Json = { id: "T-1" }) {
  const { agent } = orderDomain();
  const state = runningState(agent, { facts: [...facts], ticket: ticketSchema.parse(ticket) });
  const say = (message: string, ...claims: string[]) =>
    checkMessage(
      message,
      claims.map((fact): Claim => ({ fact })),
      state,
      agent,
    );
  return { state, say };
}

function withFact(key: string, value: Json, changes: Partial<Fact> = {}) {
  const { say } = setup([factOf(key, value, changes)]);
  return (message: string) => say(message, key);
}

const OK = { ok: true };
const not = (...unsupported: string[]) => ({ ok: false, unsupported });

describe("numbers and money", () => {
  test("a fact's number is supported and any other is not", () => {
    const say = withFact("order.items", 20);
    expect(say("There are 20 items.")).toMatchObject(OK);
    expect(say("There are 200 items.")).toEqual(not("200"));
    expect(say("There are 2 items, or 0.")).toEqual(not("2", "0"));
  });

  test.each(["$49.90", "49.90 EUR", "USD49.90", "49.9"])("%s says 4990 cents", (amount) => {
    expect(withFact("order.totalCents", 4_990)(`You get ${amount}.`)).toMatchObject(OK);
  });

  test.each(["$49.91", "$499.00", "$4.99"])("%s does not say 4990 cents", (amount) => {
    expect(withFact("order.totalCents", 4_990)(`You get ${amount}.`)).toMatchObject({ ok: false });
  });

  test("an amount in minor units may not be quoted as whole money", () => {
    expect(withFact("order.totalCents", 4_990)("You get $4,990.")).toMatchObject({ ok: false });
  });

  test("a thousands separator does not change the number", () => {
    expect(withFact("order.total", 1_299)("You get 1,299.00.")).toMatchObject(OK);
  });

  test("a fact that nobody claims supports nothing", () => {
    const { say } = setup([factOf("order.items", 20)]);
    expect(say("There are 20 items.")).toEqual(not("20"));
  });

  test("a number inside a list or an object is supported", () => {
    expect(withFact("order.lines", [{ sku: "S-9", n: 3 }])("3 of S-9")).toMatchObject(OK);
  });
});

describe("dates and ids", () => {
  test.each(["2026-03-05", "5 March 2026", "March 5, 2026", "2026-03-05T10:00:00Z"])(
    "%s is the day of the fact",
    (day) => {
      expect(withFact("order.eta", "2026-03-05T10:00:00Z")(`Expect it ${day}.`)).toMatchObject(OK);
    },
  );

  test("another time of that day is another value", () => {
    expect(withFact("order.eta", "2026-03-05T10:00:00Z")("At 2026-03-05T08:00:00Z.")).toEqual(
      not("2026-03-05T08:00:00Z"),
    );
  });

  test("another day is not", () => {
    expect(withFact("order.eta", "2026-03-05")("Expect it 6 March 2026.")).toEqual(
      not("6 March 2026"),
    );
  });

  test("an id is the fact's, the entity's or the ticket's", () => {
    const facts = [factOf("order.tracking", "TR-77", { about: { orderId: "A-1" } })];
    const { say } = setup(facts, { id: "T-1", body: "Where is A-5?" });
    expect(say("TR-77 for A-1, asked in T-1 about A-5", "order.tracking")).toMatchObject(OK);
    expect(say("TR-78", "order.tracking")).toEqual(not("TR-78"));
  });
});

describe("claims", () => {
  test("a claim of a fact that is not there is unsupported", () => {
    expect(setup().say("Hello.", "order.status")).toEqual(not("claim order.status"));
    expect(setup().say("Hello.", "__proto__")).toEqual(not("claim __proto__"));
  });

  test("a claim by id is a claim", () => {
    const { say } = setup([factOf("order.items", 20, { id: "f3" })]);
    expect(say("20 items", "f3")).toEqual({
      ok: true,
      message: "20 items",
      claims: [{ factId: "f3", key: "order.items", value: 20 }],
    });
  });

  test("a key names the newest value", () => {
    const facts = [factOf("n", 1, { id: "f1" }), factOf("n", 2, { id: "f2" })];
    expect(setup(facts).say("There are 2.", "n")).toMatchObject(OK);
    expect(setup(facts).say("There are 1.", "n")).toEqual(not("1"));
  });

  test("the id of a fact that a newer one of the same entity replaced is no claim", () => {
    const about = { orderId: "A-1" };
    const facts = [factOf("n", 1, { id: "f1", about }), factOf("n", 2, { id: "f2", about })];
    expect(setup(facts).say("One it was.", "f1")).toEqual(not("claim f1"));
  });

  test("a newer fact about another entity replaces nothing", () => {
    const facts = [
      factOf("n", 1, { id: "f1", about: { orderId: "A-1" } }),
      factOf("n", 2, { id: "f2", about: { orderId: "A-2" } }),
    ];
    expect(setup(facts).say("There are 1.", "f1")).toMatchObject(OK);
  });

  test("a fact claimed twice stands once", () => {
    const { say } = setup([factOf("n", 1)]);
    expect(say("1", "n", "f1")).toMatchObject({ claims: [{ factId: "f1" }] });
  });
});

describe("status words", () => {
  test("a status is supported by the fact that says it", () => {
    const say = withFact("order.status", "delivered");
    expect(say("It was delivered.")).toMatchObject(OK);
    expect(say("It was refunded.")).toEqual(not("refunded"));
  });

  test("a status word of one fact is checked in the words of another", () => {
    const facts = [
      factOf("order.status", "in_transit", { id: "f1" }),
      factOf("n", 1, { id: "f2" }),
    ];
    const { say } = setup(facts);
    expect(say("It is in transit.", "order.status")).toMatchObject(OK);
    expect(say("It is in transit.", "n")).toEqual(not("in_transit"));
  });

  test("a yes says the word, a no only where the message denies it", () => {
    expect(withFact("order.paid", true)("The order is paid.")).toMatchObject(OK);
    const say = withFact("order.paid", false);
    expect(say("The order is not paid.")).toMatchObject(OK);
    expect(say("The order wasn't paid.")).toMatchObject(OK);
    expect(say("The order is paid.")).toEqual(not("paid"));
  });

  test("what a fact says may not be denied", () => {
    expect(withFact("order.paid", true)("The order is not paid.")).toEqual(not("paid"));
  });

  test("what a fact's text says may not be denied", () => {
    const say = withFact("order.status", "delivered");
    expect(say("It was not delivered.")).toEqual(not("delivered"));
  });

  test("a status that the agent's rules name is checked too", () => {
    const postcondition = [{ fact: "order.status", equals: "settled" }];
    const { agent } = orderDomain({ postcondition });
    const state = runningState(agent);
    expect(checkMessage("It is settled.", [], state, agent)).toEqual(not("settled"));
  });

  test("a word of the ticket may be repeated", () => {
    const { say } = setup([], { id: "T-1", body: "My parcel is damaged" });
    expect(say("We are sorry that it is damaged.")).toMatchObject(OK);
  });

  test("the words of a customer's reply count as the ticket's", () => {
    const { agent } = orderDomain();
    const state = runningState(agent, { replies: [{ step: 2, text: "order 77, lost" }] });
    expect(checkMessage("77 is lost", [], state, agent)).toMatchObject(OK);
  });
});

describe("facts that were cut", () => {
  const say = withFact("rows", ["a", "b"], { partial: true });

  test.each(["There are 2.", "There are 276 rows."])("no count follows: %s", (message) => {
    expect(say(message)).toMatchObject({ ok: false });
  });

  test.each(["None of them match.", "That is all.", "There are no others."])(
    "nothing about the whole follows: %s",
    (message) => {
      expect(say(message)).toMatchObject({ ok: false });
    },
  );

  test("what stands in the part that is there may be said", () => {
    expect(say("One of them is a.")).toMatchObject(OK);
  });
});

describe("templates", () => {
  test("a key is replaced by the newest value, which is then a claim", () => {
    const { say } = setup([factOf("order.items", 20)]);
    expect(say("There are {{ order.items }}.")).toEqual({
      ok: true,
      message: "There are 20.",
      claims: [{ factId: "f1", key: "order.items", value: 20 }],
    });
  });

  test("a key without a fact is unsupported", () => {
    expect(setup().say("There are {{order.items}}.")).toEqual(not("{{order.items}}"));
  });

  test("a value put in is not searched, the words around it are", () => {
    const { say } = setup([factOf("order.note", "paid 999")]);
    expect(say("{{order.note}} and 5")).toEqual(not("5"));
  });

  test("text and JSON are put in as they are", () => {
    const { state } = setup([factOf("a", "x", { id: "f1" }), factOf("b", [1], { id: "f2" })]);
    expect(renderTemplate("{{a}} {{b}} {{c}}", state).text).toBe("x [1] {{c}}");
  });

  test("an unclosed template over a long run of spaces is read at once", () => {
    const startedAt = performance.now();
    expect(setup().say(`{{${" ".repeat(50_000)}`)).toMatchObject(OK);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

test("what has no support is told once", () => {
  expect(setup().say("7 and 7 and 7")).toEqual(not("7"));
});
