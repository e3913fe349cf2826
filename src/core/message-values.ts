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
  /** The whole ISO text where it names a time of that day. */
  readonly moment: string | null;
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

const UNITS = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen " +
  "fourteen fifteen sixteen seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SMALL = new Map([
  ...UNITS.map((word, i): [string, number] => [word, i]),
  ...TENS.map((word, i): [string, number] => [word, 20 + 10 * i]),
]);
const LARGE = new Map([
  ["hundred", 100],
  ["dozen", 12],
  ["thousand", 1_000],
  ["million", 1_000_000],
]);

/** English numbers in words; "one" alone is left out, since it is a pronoun as often. */
function numberWordsIn(text: string): Value[] {
  const values: Value[] = [];
  let words: string[] = [];
  let total = 0;
  let group = 0;
  const flush = (): void => {
    const said = words.filter((word) => word !== "and").join(" ");
    if (said !== "" && said !== "one") {
      const number = total + group;
      values.push({ text: said, number, isMoney: false, date: null, moment: null });
    }
    words = [];
    total = 0;
    group = 0;
  };
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+|[.,;:!?]/gu)) {
    const small = SMALL.get(word);
    const large = LARGE.get(word);
    if (small !== undefined) group += small;
    else if (large !== undefined && words.length > 0) {
      if (large <= 100) group *= large;
      else {
        total += group * large;
        group = 0;
      }
    } else if (word === "dozen") group += 12;
    else if (word !== "and" || words.length === 0) {
      flush();
      continue;
    }
    words.push(word);
  }
  flush();
  return values;
}

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
    if (!/\p{N}/u.test(token) && !CODE.test(token)) continue;
    const before = rest.slice(Math.max(0, index - 2), index);
    const after = rest.slice(index + token.length, index + token.length + 10);
    const isMoney = MONEY_BEFORE.test(before) || MONEY_AFTER.test(after);
    const value = enlarged(valueOf(token, isMoney), after);
    values.push(
      MINUS_BEFORE.test(rest.slice(Math.max(0, index - 3), index)) ? minus(value) : value,
    );
  }
  return [...values, ...numberWordsIn(rest)];
}

function dateValue(text: string, day: string, month: string, year: string): Value {
  const index = MONTHS.findIndex((name) => name.startsWith(month.toLowerCase().slice(0, 3)));
  const date = `${year}-${String(index + 1).padStart(2, "0")}-${day.padStart(2, "0")}`;
  return { text, number: null, isMoney: false, date, moment: null };
}

/** An id without a digit, by its shape: `NP-RIGA-XK`. */
const CODE = /^[A-Z]{2,}(?:-[A-Z]+)+$/;

/** `20 thousand` is not 20. */
function enlarged(value: Value, after: string): Value {
  const word = /^\s?(hundred|dozen|thousand|million)/i.exec(after)?.[1]?.toLowerCase();
  if (word === undefined || value.number === null) return value;
  const number = value.number * (word === "dozen" ? 12 : (LARGE.get(word) ?? 1));
  return { ...value, text: `${value.text} ${word}`, number };
}

/** A sign, not a hyphen: nothing that it could join stands before it. */
const MINUS_BEFORE = /(?:^|[\s(])[-−][$€£¥]?$/;

function minus(value: Value): Value {
  if (value.number === null) return value;
  return { ...value, text: `-${value.text}`, number: -value.number };
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
    moment: day !== null && token.length > day.length ? token : null,
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
