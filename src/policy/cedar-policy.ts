/**
 * Policy text in Cedar: permit and forbid, forbid wins, what nothing permits is denied. A forbid
 * with `@effect("require_approval")` asks for a person instead. The text is parsed and checked
 * against the tools once, when the process starts; whatever goes wrong in a decision is a denial.
 */
import { messageOf, PawlError } from "../core/errors.ts";
import { checkPolicies } from "./cedar-check.ts";
import { contextOf } from "./cedar-context.ts";
import { loadCedar, type Cedar } from "./cedar-engine.ts";
import { readAt, readsOf, type Reads } from "./cedar-reads.ts";
import type { CedarTool } from "./cedar-schema.ts";
import { faultIn, readPolicyText, type CedarRule } from "./cedar-text.ts";
import {
  DEFAULT_DENY,
  denied,
  versionOf,
  type PermitRequest,
  type Policy,
  type PolicyAnswer,
} from "./policy.ts";

export type { CedarTool } from "./cedar-schema.ts";

export interface CedarOptions {
  readonly text: string;
  /** Every tool that the agent has, with those that only an approval runs. */
  readonly tools: Iterable<CedarTool>;
  /** By default a part of the text's hash: another text, another version. */
  readonly version?: string;
}

export interface CedarPolicy extends Policy {
  readonly version: string;
  readonly decide: (request: PermitRequest) => PolicyAnswer;
  /** The rules' names in the order of the text. */
  readonly ruleIds: readonly string[];
  /** Where a policy reads what may be missing, which denies the call. For the log at start. */
  readonly warnings: readonly string[];
}

/** Any failure of the engine, the context or a policy's condition. */
const EVALUATION_FAILED = "policy_evaluation_failed";

/** Throws PAWL_POLICY_INVALID with the position where the text cannot be used. */
export async function createCedarPolicy(options: CedarOptions): Promise<CedarPolicy> {
  const cedar = await loadCedar();
  try {
    return build(cedar, options);
  } catch (error) {
    if (error instanceof PawlError) throw error;
    const message = `policy text: the engine cannot read it: ${messageOf(error)}`;
    throw new PawlError("PAWL_POLICY_INVALID", message, { cause: error });
  }
}

function build(cedar: Cedar, options: CedarOptions): CedarPolicy {
  const { text } = options;
  const rules = readPolicyText(cedar, text);
  const reads = readsOf(rules.map((rule) => rule.json));
  const tools = [...options.tools];
  const warnings = checkPolicies(cedar, { text, rules, reads }, tools);
  const textVersion = versionOf(text);
  const judge: Judge = {
    cedar,
    reads,
    effects: new Map(tools.map((tool) => [tool.name, tool.effect])),
    standing: prepare(
      cedar,
      text,
      `${textVersion}.standing`,
      rules.filter((r) => !r.isApproval),
    ),
    approvals: prepare(
      cedar,
      text,
      `${textVersion}.approvals`,
      rules.filter((r) => r.isApproval),
    ),
  };
  return {
    version: options.version ?? textVersion,
    decide: (request) => decide(judge, request),
    ruleIds: rules.map((rule) => rule.id),
    warnings,
  };
}

interface Judge {
  readonly cedar: Cedar;
  readonly reads: Reads;
  readonly effects: ReadonlyMap<string, CedarTool["effect"]>;
  readonly standing: Prepared;
  /** The forbids that a person's approval lifts: asked about what the others allow. */
  readonly approvals: Prepared;
}

interface Prepared {
  readonly setId: string;
  readonly rules: readonly CedarRule[];
}

/** The engine keeps what it has parsed for good, under an id: the same text is kept once. */
function prepare(cedar: Cedar, text: string, setId: string, rules: readonly CedarRule[]): Prepared {
  const staticPolicies = Object.fromEntries(rules.map((rule, i) => [`${i}`, rule.text]));
  const answer = cedar.preparsePolicySet(setId, { staticPolicies });
  if (answer.type === "failure") throw faultIn(text, 0, answer.errors[0]);
  return { setId, rules };
}

function decide(judge: Judge, request: PermitRequest): PolicyAnswer {
  try {
    if (request.approved === true) return evaluate(judge, request, true);
    const answer = evaluate(judge, request, false);
    const isAboutApproval = readAt(judge.reads, ["approved"]) !== null;
    if (answer.answer !== "deny" || !isAboutApproval) return answer;
    // `when { context.approved }`: what only an approval would allow is what a person is asked for.
    const approved = evaluate(judge, request, true);
    if (approved.answer !== "allow") return answer;
    const rule = answer.rule === DEFAULT_DENY ? approved.rule : answer.rule;
    return { answer: "require_approval", rule, reason: "allowed once a person approves it" };
  } catch (error) {
    return denied(EVALUATION_FAILED, messageOf(error));
  }
}

function evaluate(judge: Judge, request: PermitRequest, isApproved: boolean): PolicyAnswer {
  const effect = judge.effects.get(request.tool);
  if (effect === undefined) return denied(DEFAULT_DENY, "the policy knows no such tool");
  const context = contextOf(request, isApproved, judge.reads);
  const call = { judge, request, effect, context };
  const standing = matched(call, judge.standing);
  const [rule] = standing.rules;
  if (!standing.isAllowed) {
    if (rule === undefined) return denied(DEFAULT_DENY, "no policy permits this call");
    return denied(rule.id, rule.reason ?? `forbidden by ${rule.id}`);
  }
  const [asking] =
    isApproved || judge.approvals.rules.length === 0 ? [] : matched(call, judge.approvals).rules;
  if (asking !== undefined) {
    const reason = asking.reason ?? `${asking.id} asks for a person`;
    return { answer: "require_approval", rule: asking.id, reason };
  }
  const id = rule?.id ?? DEFAULT_DENY;
  return { answer: "allow", rule: id, reason: rule?.reason ?? `permitted by ${id}` };
}

interface CedarCall {
  readonly judge: Judge;
  readonly request: PermitRequest;
  readonly effect: CedarTool["effect"];
  readonly context: ReturnType<typeof contextOf>;
}

/** The deciding rules in the order of the text. Throws where any rule could not be evaluated. */
function matched({ judge, request, effect, context }: CedarCall, { setId, rules }: Prepared) {
  const resource = { type: "Tool", id: request.tool };
  const answer = judge.cedar.statefulIsAuthorized({
    principal: { type: "Agent", id: request.agent },
    action: { type: "Action", id: "call" },
    resource,
    context: context as Parameters<Cedar["statefulIsAuthorized"]>[0]["context"],
    preparsedPolicySetId: setId,
    entities: [{ uid: resource, attrs: { effect }, parents: [] }],
  });
  if (answer.type === "failure") throw new Error(answer.errors[0]?.message ?? "no answer");
  const { decision, diagnostics } = answer.response;
  const [failed] = diagnostics.errors;
  if (failed !== undefined) {
    const id = rules[Number(failed.policyId)]?.id ?? failed.policyId;
    throw new Error(`${id}: ${failed.error.message}`);
  }
  const places = diagnostics.reason.map(Number).toSorted((a, b) => a - b);
  return {
    isAllowed: decision === "allow",
    rules: places.flatMap((place) => rules[place] ?? []),
  };
}
