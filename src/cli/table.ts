/**
 * Text for people: columns without borders, and values of others made harmless. What a customer or
 * a model wrote must not move the cursor or recolour the terminal of the person who reads it.
 */
import { paint } from "./command.ts";

export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
}

/** Two spaces between columns, each as wide as its widest cell; the last one is not padded. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string[] {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ isNumber }, i) => {
        const cell = cells[i] ?? "";
        const width = widths[i] ?? 0;
        return isNumber === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const head = line(columns.map(({ title }) => title));
  return [paint("bold", head), ...rows.map(line)];
}

// oxlint-disable-next-line no-control-regex -- control characters are what this looks for
const UNSAFE = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** Control and direction characters as `\u001b`; line ends stay. */
export function plain(text: string): string {
  return text.replaceAll(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** One line, cut: for cells and short mentions. */
export function oneLine(text: string, maxChars: number): string {
  const flat = plain(text.replaceAll(/\s+/g, " "));
  return flat.length > maxChars ? `${flat.slice(0, maxChars - 1)}…` : flat;
}

/** The farthest that a Date reaches; a tampered state may say more. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** `2026-12-01 02:56:08Z`; null is a dash. */
export function timeText(ms: number | null): string {
  if (ms === null) return "-";
  if (!(Math.abs(ms) <= MAX_TIME_MS)) return String(ms);
  return new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, "Z");
}

/** Integer micro-USD as dollars with all six places: nothing is rounded away. */
export function moneyText(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(6)}`;
}
