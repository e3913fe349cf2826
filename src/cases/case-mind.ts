/**
 * The agent and the model of a scripted run, built from its case: inline agents become packs with
 * the world's answers as handlers; a registered pack keeps its own handlers where the case scripts
 * none.
 */
import { z } from "zod";
import { defineAgent, type AgentDefinition, type AgentPack } from "../agents/agent.ts";
import { holds } from "../core/contradiction.ts";
import type { Price, Rates } from "../core/price.ts";
import type { PricedModel } from "../ingest/accept-ticket.ts";
import { PawlError } from "../core/errors.ts";
import { canonicalJson } from "../core/call-key.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { allowDeclared, type Policy } from "../policy/policy.ts";
import type { ReplySource, ScriptedModel, ScriptedTurn } from "../providers/turn-script.ts";
import { defineTool, type Tool, type ToolHandler } from "../tools/tool.ts";
import type { Case, InlineAgent, InlineTool, ScriptedReply } from "./case.ts";
import {
  answerOnce,
  bookRequest,
  callWorld,
  lookUpWorld,
  type World,
  type WorldBooks,
} from "./world.ts";

/**
 * Marks a run whose outside is scripted; SemVer build metadata, so the version itself stays true.
 */
export const SCRIPTED = "+scripted";

/**
 * Takes a case and the packs of this process; throws with the path where the agent cannot be
 * built.
 */
export function scriptedAgent(world: World, packs: ReadonlyMap<string, AgentPack>): AgentPack {
  const { file } = world;
  const pack =
    typeof file.agent === "string" ? namedPack(world, packs) : inlinePack(world, file.agent);
  const policy =
    file.policyAnswers === undefined
      ? pack.policy
      : scriptedPolicy(file.policyAnswers, pack, world);
  return {
    ...pack,
    version: `${pack.version}${SCRIPTED}`,
    policy,
  };
}

function namedPack(world: World, packs: ReadonlyMap<string, AgentPack>): AgentPack {
  const { file } = world;
  const pack = packs.get(file.agent as string);
  if (pack === undefined) {
    const known = [...packs.keys()].join(", ");
    const message = `/agent: there is no such agent; the agents are: ${known}`;
    throw new PawlError("PAWL_AGENT_UNKNOWN", message, { path: "/agent" });
  }
  const scripted = (tool: Tool): [string, Tool] => {
    if (!Object.hasOwn(file.tools, tool.name)) return [tool.name, tool];
    const handler: Tool["handler"] = (args, context) => callWorld(world, tool, args, context);
    const lookup: Tool["lookup"] =
      tool.lookup === null
        ? null
        : (key, context) => lookUpWorld(world, tool.name, context.runId, key);
    return [tool.name, { ...tool, handler, lookup }];
  };
  return {
    ...pack,
    tools: new Map([...pack.tools.values()].map(scripted)),
    effects: new Map([...pack.effects.values()].map(scripted)),
  };
}

function inlinePack(world: World, agent: InlineAgent): AgentPack {
  return defineAgent({
    name: agent.name,
    version: agent.version ?? "0",
    instructions: agent.instructions,
    tools: agent.tools.map((tool, i) => inlineTool(world, tool, i)),
    ...optional("terminals", agent.terminals),
    ...optional("approvals", agent.approvals),
    ...optional("contradictions", agent.contradictions),
    ...optional("postcondition", agent.postcondition),
    ...optional("nudges", agent.nudges),
    ...optional("ceiling", agent.ceiling),
    ...optional("context", agent.context),
    ...optional("isRoutine", routineRule(agent.routine)),
  });
}

/** Routine is a step before which every condition holds over the facts. */
function routineRule(routine: InlineAgent["routine"]): AgentDefinition["isRoutine"] {
  return routine === undefined
    ? undefined
    : (state) => routine.when.every((condition) => holds(state, condition));
}

function inlineTool(world: World, tool: InlineTool, index: number): Tool {
  const spec = { name: tool.name, effect: tool.effect };
  const handler: ToolHandler<JsonObject> = (args, context) => callWorld(world, spec, args, context);
  const lookup: Tool["lookup"] = (key, context) =>
    lookUpWorld(world, tool.name, context.runId, key);
  return {
    ...defineTool({
      ...spec,
      description: tool.description,
      strict: false,
      input: inputSchema(tool, index) as z.ZodType<JsonObject>,
      handler,
      ...optional("identity", tool.identity),
      ...optional("normalize", tool.normalize),
      ...optional("facts", tool.facts),
      ...optional("about", tool.about),
      ...optional("observedAt", tool.observedAt),
      ...optional("maxAgeMs", tool.maxAgeMs),
      ...optional("required", tool.required),
      ...optional("timeoutMs", tool.timeoutMs),
      ...optional("retries", tool.retries),
      ...optional("confirm", tool.confirm),
      ...(tool.lookup === true ? { lookup } : {}),
    }),
    // The model is shown the schema as it was written.
    input: tool.input,
  };
}

function optional<K extends string, V>(name: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]?: V });
}

function inputSchema(tool: InlineTool, index: number): z.ZodType {
  try {
    return z.fromJSONSchema(closed(tool.input));
  } catch (cause) {
    const path = `/agent/tools/${index}/input`;
    throw new PawlError("PAWL_CASE_INVALID", `${path}: not a JSON Schema that can be read`, {
      path,
      cause,
    });
  }
}

/** What a schema with named properties does not name is not part of it (bug case V-01). */
function closed(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === "properties" && isJsonObject(value)) {
      return [
        key,
        Object.fromEntries(
          Object.entries(value).map(([n, s]) => [n, isJsonObject(s) ? closed(s) : s]),
        ),
      ];
    }
    return [key, key === "items" && isJsonObject(value) ? closed(value) : value];
  });
  const isOpen = isJsonObject(schema["properties"]) && schema["additionalProperties"] === undefined;
  return Object.fromEntries([
    ...entries,
    ...(isOpen ? [["additionalProperties", false]] : []),
  ]) as JsonObject;
}

/**
 * Whatever the case says, in order, restarts included; when the answers are used up: the default.
 */
function scriptedPolicy(answers: readonly unknown[], pack: AgentPack, world: World): Policy {
  const fallback = allowDeclared(pack.tools.keys());
  return {
    async decide(request) {
      const { runId, tool, args, approved } = request;
      const name = `policy:${tool}:${canonicalJson(args)}:${approved}`;
      const index = await answerOnce(
        world,
        { runId, name },
        async () => (await world.books.count(runId, "policy")) - 1,
      );
      if (index >= answers.length) return fallback.decide(request);
      const answer = answers[index];
      if (isJsonObject(answer) && typeof answer["throws"] === "string")
        throw new Error(answer["throws"]);
      if (isJsonObject(answer) && answer["hang"] === true) return new Promise(() => undefined);
      return answer;
    },
  };
}

/** What a case says of the models that it asks, for the start of its run. */
export function modelsOf(file: Case): readonly PricedModel[] {
  return [file.model, file.routineModel, file.fallbackModel].flatMap((model) =>
    model === undefined
      ? []
      : [{ name: model.name, price: model.price === null ? "unknown" : priceOf(model) }],
  );
}

/** The models of a case: one script of replies for all, the last for ever if it says so. */
export function scriptedModels(file: Case, books: WorldBooks): ScriptedModels {
  const { tokens, moneyMicroUsd } = file.limits ?? {};
  const isLimited = typeof tokens === "number" || typeof moneyMicroUsd === "number";
  const scripted = (model: Case["model"]): ScriptedModel => {
    const price = priceOf(model);
    return { name: model?.name ?? "scripted", price, counts: isLimited || price !== null };
  };
  const source: ReplySource = {
    turn: (index) => turnAt(file, index),
    served: (request) => bookRequest(books, request),
    ranOut: (request) =>
      books.note(request.runId, "fault", `/replies/${request.turn}: none is left`),
  };
  const { model, routineModel: routine, fallbackModel: fallback } = file;
  return {
    main: scripted(model),
    routine: routine === undefined ? null : scripted(routine),
    fallback: fallback === undefined ? null : scripted(fallback),
    source,
  };
}

export interface ScriptedModels {
  readonly main: ScriptedModel;
  readonly routine: ScriptedModel | null;
  readonly fallback: ScriptedModel | null;
  readonly source: ReplySource;
}

function priceOf(model: Case["model"]): Price | null {
  const price = model?.price;
  if (price === undefined || price === null) return null;
  const { tiers, ...base } = price;
  return { ...ratesOf(base), ...optional("tiers", tiers?.map(withRates)) };
}

type GivenRates = Omit<NonNullable<NonNullable<Case["model"]>["price"]>, "tiers">;

/** What is not said of cached and written tokens: they cost what plain ones do. */
function ratesOf(rates: GivenRates): Rates {
  const { inputMicroUsdPerMTok: plain, outputMicroUsdPerMTok } = rates;
  return {
    inputMicroUsdPerMTok: plain,
    cachedMicroUsdPerMTok: rates.cachedMicroUsdPerMTok ?? plain,
    cacheWriteMicroUsdPerMTok: rates.cacheWriteMicroUsdPerMTok ?? plain,
    outputMicroUsdPerMTok,
  };
}

function withRates(tier: GivenRates & { readonly aboveInputTokens: number }) {
  return { ...ratesOf(tier), aboveInputTokens: tier.aboveInputTokens };
}

function replyAt(file: Case, index: number): ScriptedReply | undefined {
  const last = file.replies.at(-1);
  return file.replies[index] ?? (last?.repeat === true ? last : undefined);
}

const RAW_KINDS = ["chat", "response", "http", "drop", "hang"] as const;

/** The reply of a turn where it is said as a server's own answer, which only a wire can carry. */
export function rawReplyAt(file: Case, index: number): ScriptedReply | null {
  const reply = replyAt(file, index);
  return reply !== undefined && RAW_KINDS.some((kind) => reply[kind] !== undefined) ? reply : null;
}

function turnAt(file: Case, index: number): ScriptedTurn | null {
  const reply = replyAt(file, index);
  if (reply === undefined) return null;
  return { ...reply, calls: callsOf(reply) } as ScriptedTurn;
}

function callsOf(reply: ScriptedReply) {
  return reply.calls ?? (reply.call === undefined ? [] : [reply.call]);
}
