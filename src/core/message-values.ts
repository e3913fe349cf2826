/**
 * Finds the checkable values in a text: numbers, amounts, dates, ids (whatever has a digit in it)
 * and status words. Reading, not judging: evidence.ts says whether a value has support.
 */

export interface Value {
  /** As written, without the punctuation around it. */
  readonly text: string;
  /** The number it says, currency signs and thousands separators left out; null for an id. */
  readonly number: number | null;
  /** Written as money: with a currency sign or code beside it. */
  readonly isMoney: boolean;
  /** ISO day (YYYY-MM-DD) if it is a date. */
  readonly date: string | null;
}

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const MONTH = MONTHS.map((m) => `${m}|${m.slice(0, 3)}`).join("|");
const DAY_MONTH = new RegExp(
  `\\b(\\d{1,2})(?:st|nd|rd|th)?\\s+(?:of\\s+)?(${MONTH})\\.?,?\\s+(\\d{4})\\b`,
  "gi",
);
const MONTH_DAY = new RegExp(
  `\\b(${MONTH})\\.?\\s+(\\d{1,2})(?:st|nd|rd|th)?,?\\s+(\\d{4})\\b`,
  "gi",
);

/** A run of letters, digits and joiners with a digit in it; the edges hold no punctuation. */
const TOKEN = /[\p{L}\p{N}_](?:[\p{L}\p{N}_./:,@#+-]*[\p{L}\p{N}_])?/gu;

/** Every value of a text, in order. Bounded by the text's length; nothing backtracks. */
export function valuesIn(text: string): Value[] {
  const values: Value[] = [];
  const rest = text
    .replaceAll(DAY_MONTH, (whole, day: string, month: string, year: string) => {
      values.push(dateValue(whole, day, month, year));
      return " ";
    })
    .replaceAll(MONTH_DAY, (whole, month: string, day: string, year: string) => {
      values.push(dateValue(whole, day, month, year));
      return " ";
    });
  for (const { 0: token, index } of rest.matchAll(TOKEN)) {
    if (!/\p{N}/u.test(token)) continue;
    const before = rest.slice(Math.max(0, index - 2), index);
    const after = rest.slice(index + token.length, index + token.length + 8);
    values.push(valueOf(token, MONEY_BEFORE.test(before) || MONEY_AFTER.test(after)));
  }
  return values;
}

function dateValue(text: string, day: string, month: string, year: string): Value {
  const index = MONTHS.findIndex((name) => name.startsWith(month.toLowerCase().slice(0, 3)));
  const date = `${year}-${String(index + 1).padStart(2, "0")}-${day.padStart(2, "0")}`;
  return { text, number: null, isMoney: false, date };
}

const MONEY_BEFORE = /[$€£¥]\s?$/;
const MONEY_AFTER = /^\s?(?:[$€£¥]|usd\b|eur\b|gbp\b|dollar|euro|pound)/i;
const CURRENCY = /^(?:usd|eur|gbp)|(?:usd|eur|gbp)$/i;

function valueOf(token: string, isBesideCurrency: boolean): Value {
  const day = /^(\d{4}-\d{2}-\d{2})(?:$|T)/.exec(token)?.[1] ?? null;
  const plain = token.replace(CURRENCY, "");
  const isNumber = /^[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/.test(plain);
  return {
    text: token,
    number: isNumber ? Number(plain.replaceAll(",", "")) : null,
    isMoney: isBesideCurrency || plain !== token,
    date: day,
  };
}

/**
 * The words of the vocabulary (lower case, `_` as written) that stand in the text as whole words.
 */
export function statusWordsIn(text: string, vocabulary: ReadonlySet<string>): string[] {
  const flat = ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
  return [...vocabulary].filter((word) => flat.includes(` ${word.replaceAll(/[_-]+/g, " ")} `));
}
