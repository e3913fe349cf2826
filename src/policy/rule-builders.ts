/**
 * The rules that most packs need: ownership, scopes, amounts, caps. Each only takes permission
 * away; what is allowed, a pack says in rules of its own. Where the request does not hold what a
 * rule needs (no such fact, an amount that is no whole number), the rule throws, which denies.
 */
import { PawlError } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { PermitRequest } from "./policy.ts";
import type { Rule } from "./rules.ts";

interface Scoped {
  readonly id: string;
  /** The tools that the rule is about, by exact name. */
  readonly tools: readonly string[];
  readonly reason?: string;
}

/** A fact is about one entity: this argument must name the same one. */
export interface SameEntity {
  readonly fact: string;
  readonly arg: string;
}

export interface OwnershipRule extends Scoped {
  /** Facts that hold the owner's id; each must be known and be the customer of the ticket. */
  readonly facts?: readonly string[];
  /**
   * Arguments that may name a customer; where one is given it must be the customer of the ticket.
   */
  readonly args?: readonly string[];
  /** Facts of another order prove nothing about this one. */
  readonly about?: readonly SameEntity[];
  /** Who must own it; by default the customer of the ticket. For a tenant: an attribute. */
  readonly owner?: (request: PermitRequest) => Json | undefined;
}

/** Denies a call whose object is not proven to be the customer's own. */
export function ownership(rule: OwnershipRule): Rule {
  const { facts = [], args = [], about = [], owner = ({ customerId }) => customerId } = rule;
  if (facts.length + args.length === 0) refuse(rule.id, "names neither a fact nor an argument");
  return restrict(rule, "deny", "it is not proven to belong to the customer", (request) => {
    const expected = owner(request);
    // The empty text too: a shop that writes "" for nobody would make everyone an owner.
    if (typeof expected !== "string" || expected === "") return true;
    if (about.some((same) => !isSameEntity(request, same))) return true;
    if (facts.some((key) => own(request.facts, key) !== expected)) return true;
    return args.some(
      (name) => Object.hasOwn(request.args, name) && request.args[name] !== expected,
    );
  });
}

export interface ScopeRule extends Scoped {
  readonly scope: string;
  /** The attribute of the ticket with the list of scopes. */
  readonly attribute?: string;
}

/** Denies unless whoever took the ticket in gave it this scope. */
export function needsScope({ attribute = "scopes", ...rule }: ScopeRule): Rule {
  return restrict(rule, "deny", `the ticket lacks the scope ${rule.scope}`, ({ ticket }) => {
    const scopes = own(ticket?.attributes ?? {}, attribute);
    return !Array.isArray(scopes) || !scopes.includes(rule.scope);
  });
}

export interface AmountRule extends Scoped {
  readonly effect: "require_approval" | "deny";
  /** The argument with the amount in minor units. */
  readonly arg: string;
  /** The greatest amount that the rule lets pass, in minor units; or the fact that holds it. */
  readonly max: number | { readonly fact: string };
  /** A fact that is added to the amount first: what the customer has had before. */
  readonly plus?: string;
  readonly about?: readonly SameEntity[];
}

/** Applies to amounts above `max`; an amount that is no whole number from 0 up is denied. */
export function amountAbove({ arg, max, plus, about = [], ...rule }: AmountRule): Rule {
  if (typeof max === "number") checkBound(rule.id, max);
  const why = typeof max === "number" ? `the amount is above ${max}` : `above ${max.fact}`;
  return restrict(rule, rule.effect, why, (request) => {
    if (about.some((same) => !isSameEntity(request, same))) {
      throw new Error("the facts are about something else");
    }
    const amount = minorUnits(own(request.args, arg), arg);
    const before = plus === undefined ? 0 : minorUnits(own(request.facts, plus), plus);
    const limit =
      typeof max === "number" ? max : minorUnits(own(request.facts, max.fact), max.fact);
    return amount + before > limit;
  });
}

export interface CapRule extends Scoped {
  readonly effect: "require_approval" | "deny";
  /** So many effects may happen; the next one is the rule's. */
  readonly max: number;
}

/** Counts the effects of all tools in this run. */
export function runCap(rule: CapRule): Rule {
  checkBound(rule.id, rule.max);
  return restrict(rule, rule.effect, `the run had ${rule.max} effects`, ({ effectsOfRun }) => {
    return counted(effectsOfRun, "the run") >= rule.max;
  });
}

/**
 * Counts the effects of all runs for the customer of the ticket, as far as the caller knows them.
 */
export function customerCap(rule: CapRule): Rule {
  checkBound(rule.id, rule.max);
  const why = `the customer had ${rule.max} effects`;
  return restrict(rule, rule.effect, why, ({ effectsOfCustomer }) => {
    return counted(effectsOfCustomer, "the customer") >= rule.max;
  });
}

function restrict(
  { id, tools, reason }: Scoped,
  effect: Rule["effect"],
  why: string,
  isMet: Rule["when"],
): Rule {
  if (tools.length === 0) refuse(id, "is about no tool");
  const names = new Set(tools);
  return {
    id,
    effect,
    reason: reason ?? why,
    when: (request) => names.has(request.tool) && isMet(request),
  };
}

function isSameEntity({ facts, args }: PermitRequest, { fact, arg }: SameEntity): boolean {
  const named = own(args, arg);
  if (typeof named !== "number" && (typeof named !== "string" || named === "")) return false;
  return own(facts, fact) === named;
}

/** `constructor` and its like are names as any other: only own fields are there. */
function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function minorUnits(value: Json | undefined, name: string): number {
  if (isCount(value)) return value;
  throw new Error(`${name} is no whole number of minor units`);
}

function counted(value: number | undefined, whose: string): number {
  if (isCount(value)) return value;
  throw new Error(`nobody counted the effects of ${whose}`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function checkBound(id: string, max: number): void {
  if (!isCount(max)) refuse(id, `has the bound ${String(max)}, no whole number from 0 up`);
}

function refuse(id: string, why: string): never {
  throw new PawlError("PAWL_POLICY_INVALID", `policy: rule ${id} ${why}`, { path: `rules/${id}` });
}
