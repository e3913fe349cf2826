/**
 * A ranked search over a few hundred short articles, built once: BM25 with the title counted twice.
 * The same query gives the same list, whatever order the articles were given in.
 */

export interface Article {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface Hit {
  readonly article: Article;
  readonly score: number;
}

/** Takes a query; returns every article that shares a word with it, best first, ties by id. */
export type ArticleSearch = (query: string) => Hit[];

/**
 * The usual constants: how soon a repeated word stops counting, how much a long text is held back.
 */
const K1 = 1.2;
const B = 0.75;
const TITLE_WEIGHT = 2;

export function createArticleSearch(articles: readonly Article[]): ArticleSearch {
  const indexed = articles.map((article) => {
    const title = Array.from({ length: TITLE_WEIGHT }, () => wordsOf(article.title)).flat();
    return { article, ...counted([...title, ...wordsOf(article.text)]) };
  });
  const meanLength = indexed.reduce((sum, { length }) => sum + length, 0) / (indexed.length || 1);
  const holders = counted(indexed.flatMap(({ counts }) => [...counts.keys()])).counts;
  const weight = (word: string): number => {
    const n = holders.get(word) ?? 0;
    return Math.log(1 + (indexed.length - n + 0.5) / (n + 0.5));
  };
  return (query) => {
    const words = [...new Set(wordsOf(query))].filter((word) => holders.has(word));
    return indexed
      .map(({ article, counts, length }) => {
        const held = K1 * (1 - B + (B * length) / meanLength);
        const score = words.reduce((sum, word) => {
          const n = counts.get(word) ?? 0;
          return sum + (weight(word) * n * (K1 + 1)) / (n + held);
        }, 0);
        return { article, score };
      })
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score || (a.article.id < b.article.id ? -1 : 1));
  };
}

/** Words of any script in lower case; an English plural counts as its singular. */
function wordsOf(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => (/^[a-z]{3,}[^su]s$/.test(word) ? word.slice(0, -1) : word));
}

function counted(words: readonly string[]) {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}
