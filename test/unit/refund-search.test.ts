/** The policy search of the refund pack: ranked, stable, bounded, and about the right article. */
import { describe, expect, test } from "vitest";
import { createArticleSearch } from "../../src/agents/refund/article-search.ts";
import { shippedArticles } from "../../src/agents/refund/articles.ts";
import { policySearch } from "../../src/agents/refund/tools/policy-search.ts";
import type { ToolContext } from "../../src/tools/tool.ts";

const article = (id: string, title: string, text = "") => ({ id, title, text });

function ids(articles: Parameters<typeof createArticleSearch>[0], query: string): string[] {
  return createArticleSearch(articles)(query).map((hit) => hit.article.id);
}

const CONTEXT: ToolContext = {
  runId: "run-1",
  step: 1,
  ticketId: "T-1",
  customerId: "c-17",
  idempotencyKey: null,
  signal: AbortSignal.timeout(10_000),
};

describe("the ranking", () => {
  test("a rare word weighs more than a common one", () => {
    const articles = [
      article("a", "refund refund refund"),
      article("b", "refund chargeback"),
      article("c", "refund window"),
    ];
    expect(ids(articles, "chargeback refund")[0]).toBe("b");
  });

  test("the title weighs more than the text", () => {
    expect(
      ids([article("a", "x", "lost parcel"), article("b", "lost parcel", "x")], "parcel"),
    ).toEqual(["b", "a"]);
  });

  test("a long text is held back", () => {
    const long = Array.from({ length: 200 }, (_, i) => `word${i}`).join(" ");
    expect(
      ids([article("a", "t", `parcel ${long}`), article("b", "t", "parcel")], "parcel"),
    ).toEqual(["b", "a"]);
  });

  test("equal scores stand in the order of their ids, however the articles were given", () => {
    const articles = ["c", "a", "b"].map((id) => article(id, "gift card"));
    expect(ids(articles, "gift")).toEqual(["a", "b", "c"]);
    expect(ids(articles.toReversed(), "gift")).toEqual(["a", "b", "c"]);
  });

  test("a plural, capitals and other forms of a letter find the word", () => {
    expect(ids([article("a", "Gift card")], "GIFT ＣＡＲＤＳ")).toEqual(["a"]);
    expect(ids([article("a", "возврат денег")], "Возврат")).toEqual(["a"]);
  });

  test.each([
    ["no known word", "zzzz"],
    ["no word", " ?! "],
    ["the names of the prototype", "constructor __proto__ toString"],
  ])("%s finds nothing", (_, query) => {
    expect(ids(shippedArticles(), query)).toEqual([]);
  });

  test("no articles, no hits", () => {
    expect(ids([], "refund")).toEqual([]);
  });
});

describe("the shipped articles", () => {
  test.each([
    ["item arrived damaged", "rf-02"],
    ["my parcel never arrived, it is lost", "rf-03"],
    ["I was charged twice for the same order", "rf-04"],
    ["refund to another card", "rf-05"],
    ["how long does a refund take", "rf-06"],
    ["express delivery fee", "rf-08"],
    ["cancel my order before dispatch", "rf-09"],
    ["licence key download", "rf-10"],
    ["subscription renewal", "rf-11"],
    ["gift card refund", "rf-12"],
    ["chargeback dispute with my bank", "rf-13"],
    ["who approves a refund", "rf-14"],
    ["engraved personalised item", "rf-16"],
    ["price drop", "rf-18"],
    ["wrong item in the parcel", "rf-19"],
    ["you received my returned parcel", "rf-20"],
    ["exchange rate of my bank", "rf-21"],
    ["voucher used on a refunded order", "rf-22"],
    ["pay later instalments", "rf-23"],
  ])("%s is answered by %s", (query, id) => {
    expect(ids(shippedArticles(), query)[0]).toBe(id);
  });

  test("have ids of their own and fit whole into a result", () => {
    const articles = shippedArticles();
    expect(new Set(articles.map(({ id }) => id)).size).toBe(articles.length);
    expect(articles.filter(({ text }) => text.length > 1_000)).toEqual([]);
  });
});

describe("the tool", () => {
  async function searched(query: string, limit = 3) {
    const tool = policySearch(shippedArticles());
    return tool.handler({ query, limit }, CONTEXT) as Promise<{
      found: number;
      articles: { id: string; text: string; isCut?: boolean }[];
    }>;
  }

  test("shows as many as asked for and says how many there are", async () => {
    const { found, articles } = await searched("refund", 2);
    expect(articles).toHaveLength(2);
    expect(found).toBeGreaterThan(2);
  });

  test("five articles stay below what a journal line holds", async () => {
    expect(JSON.stringify(await searched("refund order days", 5)).length).toBeLessThan(8_000);
  });

  test("a long article is cut with a mark, never inside a pair", async () => {
    const long = article("a", "plates", `${"x".repeat(999)}🍸 and more`);
    const result = await policySearch([long]).handler({ query: "plates", limit: 1 }, CONTEXT);
    expect(result).toMatchObject({ articles: [{ text: "x".repeat(999), isCut: true }] });
  });

  test.each([[0], [6], [1.5], ["3"]])("%s is no limit", (limit) => {
    expect(policySearch([]).parse({ query: "x", limit })).toMatchObject({ ok: false });
  });
});
