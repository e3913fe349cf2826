/**
 * Finds the policy articles that speak about a question; few and cut, so that a step stays small.
 */
import { z } from "zod";
import { defineTool } from "../../../tools/tool.ts";
import { createArticleSearch, type Article } from "../article-search.ts";

/** Enough to hold a near miss beside the right article; more would only fill the context. */
const MOST_ARTICLES = 5;
/** A whole shipped article fits; five of them stay below what a journal line holds. */
const MOST_CHARS = 1_000;

export function policySearch(articles: readonly Article[]) {
  const search = createArticleSearch(articles);
  return defineTool({
    name: "policy_search",
    effect: "read",
    description: "The refund policy's articles about a question, best first.",
    input: z.strictObject({
      query: z.string().min(1).max(300).describe("What the policy should say something about"),
      limit: z.int().min(1).max(MOST_ARTICLES).default(3),
    }),
    // The limit may be left out.
    strict: false,
    identity: ["query", "limit"],
    normalize: { query: ["trim", "lower"] },
    facts: {
      "policy.found": "/found",
      "policy.articleId": "/articles/0/id",
      "policy.title": "/articles/0/title",
      "policy.text": "/articles/0/text",
    },
    timeoutMs: 2_000,
    handler: ({ query, limit }) => {
      const hits = search(query);
      const shown = hits.slice(0, limit).map(({ article, score }) => ({
        id: article.id,
        title: article.title,
        score: Math.round(score * 1_000) / 1_000,
        ...cut(article.text),
      }));
      return Promise.resolve({ query, found: hits.length, articles: shown });
    },
  });
}

/** `isCut` says that the article goes on; half of a surrogate pair would not be JSON text. */
function cut(text: string) {
  if (text.length <= MOST_CHARS) return { text };
  return { text: text.slice(0, MOST_CHARS).replace(/[\uD800-\uDBFF]$/, ""), isCut: true };
}
