/**
 * Blanks what is not code, so that a rule about code is not set off by a comment or by the text of
 * a string. A small scanner and no parser: TypeScript 7 has no JS API. Line breaks stay.
 */
export type Part = "comment" | "text";

/** Stands for one character of a string, a template or a regular expression. */
export const TEXT_MARK = "\0";

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/y;
const QUOTED = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/y;
const TEMPLATE_PART = /[`}](?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
/** After these a slash begins a regular expression; after a value it divides. */
const BEFORE_REGEX = /(?:^|[([{}=:;,!&|?+\-*%<>~^]|\b(?:return|typeof|case|of|in|throw|await))\s*$/;

/** Takes source text; returns text of the same length with the named parts blanked. */
export function maskSource(source: string, parts: readonly Part[]): string {
  const out: string[] = [];
  /** Open braces inside each `${`, innermost last. */
  const depths: number[] = [];
  let code = "";
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? null;
  };
  const emit = (token: string, part: Part): void => {
    const mark = part === "comment" ? " " : TEXT_MARK;
    out.push(parts.includes(part) ? token.replaceAll(/[^\n]/g, mark) : token);
    at += token.length;
    if (part === "text") code = '"';
  };
  while (at < source.length) {
    const char = source.charAt(at);
    const comment = char === "/" ? take(COMMENT) : null;
    if (comment !== null) {
      emit(comment, "comment");
      continue;
    }
    const isTemplate = char === "`" || (char === "}" && depths.at(-1) === 0);
    const text = isTemplate ? take(TEMPLATE_PART) : takeText(char, code, take);
    if (text !== null) {
      if (char === "}") depths.pop();
      if (isTemplate && text.endsWith("${")) depths.push(0);
      emit(text, "text");
      if (isTemplate && text.endsWith("${")) code = "{";
      continue;
    }
    if (depths.length > 0 && char === "{") depths.push((depths.pop() ?? 0) + 1);
    if (depths.length > 0 && char === "}") depths.push((depths.pop() ?? 0) - 1);
    out.push(char);
    code = (code + char).slice(-12);
    at += 1;
  }
  return out.join("");
}

function takeText(char: string, code: string, take: (pattern: RegExp) => string | null) {
  if (char === '"' || char === "'") return take(QUOTED);
  return char === "/" && BEFORE_REGEX.test(code) ? take(REGEX) : null;
}
