/** The policy articles that ship with the pack: original text, written for this project. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Article } from "./article-search.ts";

const articlesSchema = z.array(
  z.strictObject({ id: z.string(), title: z.string(), text: z.string() }),
);

export function shippedArticles(): readonly Article[] {
  const file = new URL("./articles.json", import.meta.url);
  return articlesSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}
