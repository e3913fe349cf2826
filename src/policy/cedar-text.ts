/**
 * From a policy text to its rules, each under its own name: the annotations `@id`, `@effect` and
 * `@reason` are ours, everything else is Cedar's. Nothing unclear is let through: a template, an
 * effect that is not known, a text that does not parse is PAWL_POLICY_INVALID.
 */
import { PawlError } from "../core/errors.ts";
import type { Cedar, CedarFault, PolicyJson } from "./cedar-engine.ts";

export interface CedarRule {
  readonly id: string;
  readonly text: string;
  /** Where it begins in the whole text, in characters. */
  readonly start: number;
  readonly effect: "permit" | "forbid";
  /** A forbid that a person's approval lifts. */
  readonly isApproval: boolean;
  readonly reason: string | null;
  readonly json: PolicyJson;
}

/** Brackets and ifs within one policy. The engine's stack ends at about 120 brackets. */
const MAX_DEPTH = 50;
/** Operators and dots within one policy. Its stack ends at about 500 of them in one chain. */
const MAX_OPERATORS = 300;
/** It reads policies as JSON to a depth of 128, of which the set around them takes some. */
const MAX_JSON_DEPTH = 118;
const TOKEN = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|[([{]|[)\]}]|\bif\b|;|&&|\|\||[-+*.]/gs;

/** Returns the rules in the order of the text. */
export function readPolicyText(cedar: Cedar, text: string): CedarRule[] {
  checkSize(text);
  const parts = cedar.policySetTextToParts(text);
  if (parts.type === "failure") throw faultIn(text, 0, parts.errors[0]);
  if (parts.policy_templates.length > 0) {
    const start = text.indexOf(parts.policy_templates[0] ?? "");
    throw invalid("a template (?principal, ?resource) has nobody to fill it in", text, start);
  }
  const found = inTextOrder(parts.policies).map((part) => read(cedar, part));
  let end = 0;
  const placed = found.map((rule) => {
    // Cedar gives every part as it was written; should it not, the position is the last one's end.
    const start = Math.max(text.indexOf(rule.text, end), end);
    end = start + rule.text.length;
    return { ...rule, start };
  });
  placed.forEach((rule) => checkRule(rule, text));
  return named(placed);
}

/** The engine sorts by its own names as texts: policy0, policy1, policy10, policy2. */
function inTextOrder(parts: readonly string[]): string[] {
  const places = parts.map((_, i) => i);
  const sorted = places.toSorted((a, b) => (`policy${a}` < `policy${b}` ? -1 : 1));
  return places.map((place) => parts[sorted.indexOf(place)] ?? "");
}

type Unnamed = Omit<CedarRule, "id" | "start">;

function read(cedar: Cedar, text: string): Unnamed {
  const answer = cedar.policyToJson(text);
  if (answer.type === "failure") throw faultIn(text, 0, answer.errors[0]);
  const { json } = answer;
  const isApproval = annotation(json, "effect") === "require_approval";
  return { text, effect: json.effect, isApproval, reason: annotation(json, "reason"), json };
}

function annotation({ annotations }: PolicyJson, name: string): string | null {
  if (annotations === undefined || !Object.hasOwn(annotations, name)) return null;
  // `@id` without a text is null, which the engine's own types do not say.
  return (annotations[name] as string | null) ?? "";
}

function checkRule(rule: Omit<CedarRule, "id">, text: string): void {
  if (isDeeper(rule.json, MAX_JSON_DEPTH)) {
    const what = "a condition with too many terms, about fifty are allowed: make two policies";
    throw invalid(what, text, rule.start);
  }
  const effect = annotation(rule.json, "effect");
  if (effect === null) return;
  if (effect !== "require_approval") {
    throw invalid(`@effect("${effect}"): the only effect is require_approval`, text, rule.start);
  }
  if (rule.effect !== "forbid") {
    throw invalid(`@effect("require_approval") belongs on a forbid`, text, rule.start);
  }
}

/** An id that is missing or not its own becomes the policy's number, as in Cedar's own messages. */
function named(rules: readonly Omit<CedarRule, "id">[]): CedarRule[] {
  const given = rules.map((rule) => annotation(rule.json, "id") ?? "");
  const isOwn = (id: string): boolean => id !== "" && given.indexOf(id) === given.lastIndexOf(id);
  const taken = new Set(given.filter(isOwn));
  return rules.map((rule, i) => {
    let id = given[i] ?? "";
    if (!isOwn(id)) {
      id = `policy${i}`;
      while (taken.has(id)) id += "_";
    }
    return { ...rule, id };
  });
}

function checkSize(text: string): void {
  let [depth, operators] = [0, 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === ";") [depth, operators] = [0, 0];
    else if (token === "if" || /^[([{]$/.test(token)) depth += 1;
    else if (/^[)\]}]$/.test(token)) depth -= 1;
    if (/^(&&|\|\||[-+*.[])$/.test(token)) operators += 1;
    if (depth > MAX_DEPTH) {
      throw invalid(`more than ${MAX_DEPTH} brackets and ifs in one policy`, text, index);
    }
    if (operators > MAX_OPERATORS) {
      throw invalid(`more than ${MAX_OPERATORS} operators in one policy`, text, index);
    }
  }
}

/** Level by level: a chain of terms is as deep as it is long. */
function isDeeper(json: unknown, maxDepth: number): boolean {
  let level = [json];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    level = level.flatMap((part) =>
      typeof part === "object" && part !== null ? Object.values(part) : [],
    );
  }
  return false;
}

/** The engine's fault in a part of the text that begins at `start`; its own offsets are bytes. */
export function faultIn(text: string, start: number, fault: CedarFault | undefined): PawlError {
  const { message = "not a policy", help = null, sourceLocations = [] } = fault ?? {};
  const place = sourceLocations?.[0];
  const said = [message, place?.label ?? null, help].flatMap((part) => part ?? []).join("; ");
  const bytes = Buffer.from(text.slice(start)).subarray(0, place?.start ?? 0);
  return invalid(said, text, start + bytes.toString().length);
}

/** `at`: an index into the text. */
export function invalid(what: string, text: string, at: number): PawlError {
  const before = text.slice(0, Math.max(at, 0)).split("\n");
  const [line, column] = [before.length, (before.at(-1) ?? "").length + 1];
  const cut = what.length > 400 ? `${what.slice(0, 400)}… (cut)` : what;
  const message = `policy text, line ${line}, column ${column}: ${cut}`;
  return new PawlError("PAWL_POLICY_INVALID", message, { path: `${line}:${column}` });
}
