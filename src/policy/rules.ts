/**
 * Typed rules, the policy of most packs: every rule is asked, deny wins over require_approval wins
 * over allow, and a call that no rule is about is denied. A rule that throws, or says anything but
 * true and false, denies under its own id. Pure: same request, same answer.
 */
import { messageOf, PawlError } from "../core/errors.ts";
import {
  DEFAULT_DENY,
  denied,
  type PermitRequest,
  type Policy,
  type PolicyAnswer,
} from "./policy.ts";

export type RuleEffect = "allow" | "require_approval" | "deny";

export interface Rule {
  /** Named in the journal, the log and the approval: stable, one rule each. */
  readonly id: string;
  readonly effect: RuleEffect;
  /** Whether the rule is about this call. Throws where it cannot tell: that is a denial. */
  readonly when: (request: PermitRequest) => boolean;
  /** For the person who reads the answer. No customer's words, no argument values. */
  readonly reason: string;
}

export interface RuleSet {
  /** Another version makes every approval given under the old one void. */
  readonly version: string;
  readonly rules: readonly Rule[];
}

/** Strongest first. */
const PRECEDENCE: readonly RuleEffect[] = ["deny", "require_approval", "allow"];

/** Throws PAWL_POLICY_INVALID where a rule could not be named or told apart. */
export function defineRules(ruleSet: RuleSet): Policy {
  const rules = [...ruleSet.rules];
  checkRules(ruleSet.version, rules);
  return { version: ruleSet.version, decide: (request) => decide(rules, request) };
}

function decide(rules: readonly Rule[], request: PermitRequest): PolicyAnswer {
  const found = new Map<RuleEffect, PolicyAnswer>();
  for (const rule of rules) {
    const answer = ask(rule, request);
    if (answer !== null && !found.has(answer.answer)) found.set(answer.answer, answer);
  }
  const strongest = PRECEDENCE.flatMap((effect) => found.get(effect) ?? [])[0];
  if (strongest === undefined) return denied(DEFAULT_DENY, "no rule allows this call");
  // A person has said yes to exactly this call, which is all that such a rule asks for.
  return strongest.answer === "require_approval" && request.approved === true
    ? { ...strongest, answer: "allow" }
    : strongest;
}

/** null: the rule is not about this call. */
function ask(rule: Rule, request: PermitRequest): PolicyAnswer | null {
  let isMet: unknown;
  try {
    isMet = rule.when(request);
  } catch (error) {
    return denied(rule.id, `the rule cannot tell: ${messageOf(error)}`);
  }
  if (isMet === true) return { answer: rule.effect, rule: rule.id, reason: rule.reason };
  if (isMet === false) return null;
  // An async rule that rejects later would end the process as an unhandled rejection.
  if (isMet instanceof Promise) isMet.catch(() => undefined);
  return denied(rule.id, "the rule said neither true nor false");
}

function checkRules(version: string, rules: readonly Rule[]): void {
  if (version === "") refuse("version", "an approval cannot bind to a policy without a version");
  const ids = new Set<string>();
  for (const [index, { id, effect }] of rules.entries()) {
    if (id === "") refuse(`rules/${index}`, "a rule without an id");
    if (ids.has(id)) refuse(`rules/${index}`, `the id ${id} is used twice`);
    if (id === DEFAULT_DENY) refuse(`rules/${index}`, `${id} is the answer when no rule allows`);
    if (!PRECEDENCE.includes(effect)) refuse(`rules/${index}`, `rule ${id} has no known effect`);
    ids.add(id);
  }
}

function refuse(path: string, why: string): never {
  throw new PawlError("PAWL_POLICY_INVALID", `policy: ${path}: ${why}`, { path });
}
