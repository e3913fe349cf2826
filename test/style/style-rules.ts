/**
 * The house rules that no linter knows, each a pure function from path and text to breaches. Pure,
 * so that the test can plant a fault for every one of them.
 */
import { maskSource, TEXT_MARK } from "../support/mask-source.ts";

/** Takes a repo-relative path and its text; returns one sentence for each breach. */
export type StyleRule = (file: string, source: string) => string[];

const MAX_LINES = 300;
const MAX_COLUMNS = 100;
const URL = /\bhttps?:\/\/\S+/g;
const BANNED_WORDS = new Set(
  "util utils helper helpers manager managers service services handler handlers common types data info".split(
    " ",
  ),
);

export const RULES = {
  length: (file, source) => {
    const lines = source.replace(/\n$/, "").split("\n").length;
    return isShipped(file) && lines > MAX_LINES
      ? [`${file} has ${lines} lines, more than ${MAX_LINES}: does it own two things?`]
      : [];
  },

  width: (file, source) =>
    maskSource(source, ["text"])
      .split("\n")
      .flatMap((line, index) => {
        const columns = line.replaceAll(TEXT_MARK, "").replaceAll(URL, "").length;
        return columns > MAX_COLUMNS
          ? [`${file}:${index + 1} has ${columns} columns, more than ${MAX_COLUMNS}`]
          : [];
      }),

  exports: rule(isShipped, /^\s*export\s+default\b|\bas\s+default\b/m, "a default export"),

  purity: rule(
    (file) => file.startsWith("src/core/"),
    /\bDate\.now\b|\bnew\s+Date\b|\bMath\.random\b|\brandomUUID\b|\bprocess\s*\.|\bperformance\.|\bset(Timeout|Interval|Immediate)\b|\b(async|await)\b/,
    "a clock, randomness, the environment or waiting in the core: take it as an argument",
  ),

  environment: rule(
    (file) => /^(src|workers)\/|^scripts\/.*\.ts$/.test(file) && file !== "src/app/config.ts",
    /\bprocess\s*\.\s*env\b|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b|\bimport\s*\{[^}]*\benv\b/,
    "the environment read outside src/app/config.ts",
  ),

  sleeping: rule(
    (file) => file.startsWith("test/") && !file.startsWith("test/support/"),
    /\bset(Timeout|Interval)\b|\bsleep\s*\(|\bAtomics\.wait\b/,
    "a timer in a test: wait for a named point by test/support",
  ),

  names: (file) => {
    const words = file.replace(/(\.test)?\.\w+$/, "").split(/[/.-]/);
    return words
      .filter((word) => BANNED_WORDS.has(word.toLowerCase()))
      .map((word) => `${file}: the name "${word}" says nothing; name what it owns`);
  },
} satisfies Record<string, StyleRule>;

export function checkStyle(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, source]) =>
    Object.values<StyleRule>(RULES).flatMap((check) => check(file, source)),
  );
}

function isShipped(file: string): boolean {
  return /^(src|workers|scripts)\//.test(file);
}

/** A rule that no code in these files may match the pattern; comments and text do not count. */
function rule(covers: (file: string) => boolean, pattern: RegExp, what: string): StyleRule {
  return (file, source) => {
    if (!covers(file)) return [];
    const code = maskSource(source, ["comment", "text"]);
    const at = code.search(pattern);
    return at < 0 ? [] : [`${file}:${code.slice(0, at).split("\n").length}: ${what}`];
  };
}
