/**
 * The models of real runs, from the environment and from what packs name: their wire, their prices,
 * and which runs they step.
 */
import type { AgentPack } from "../agents/agent.ts";
import type { PricedModel } from "../ingest/accept-ticket.ts";
import type { Provider } from "../providers/provider.ts";
import type { StepDeps } from "../step/work.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { priceReader } from "./model-price.ts";
import { openAiProvider } from "./wire.ts";

interface Priced {
  readonly provider: Provider;
  readonly priced: PricedModel;
}

export interface LiveModel {
  readonly main: Priced;
  /** The routine and fallback models of the packs, by name. */
  readonly others: ReadonlyMap<string, Priced>;
}

/** Null: no key is set, so this process steps scripted runs only. */
export async function readLiveModel(
  config: Config,
  packs: Iterable<AgentPack>,
): Promise<LiveModel | null> {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, PAWL_MODEL } = config;
  if (apiKey === undefined) return null;
  const { PAWL_API: api, PAWL_SERVICE_TIER: serviceTier } = config;
  const { now } = systemClock;
  const priceOf = priceReader(config);
  const open = async (model: string): Promise<Priced> => {
    const answer = await priceOf(model);
    const price = answer.known ? answer.price : null;
    return {
      provider: await openAiProvider({ api, apiKey, baseUrl, model, price, serviceTier, now }),
      priced: { name: model, price: answer.known ? answer.price : "unknown" },
    };
  };
  const others = new Map<string, Priced>();
  for (const { models } of packs) {
    for (const name of Object.values(models)) others.set(name, await open(name));
  }
  return { main: await open(PAWL_MODEL), others };
}

/** Every model that runs of this agent may ask, for the acceptance of their tickets. */
export function pricedModels({ main, others }: LiveModel, agent: AgentPack): PricedModel[] {
  const named = Object.values(agent.models).flatMap((name) => others.get(name)?.priced ?? []);
  return [main.priced, ...named];
}

/** Any version of an agent is stepped by the one that this process has. */
export function liveResolver(
  packs: ReadonlyMap<string, AgentPack>,
  { main, others }: LiveModel,
): StepDeps["resolve"] {
  return (state) => {
    const agent = packs.get(state.agent.name);
    if (agent === undefined) return Promise.resolve(null);
    const routine = others.get(agent.models.routine ?? "")?.provider;
    const fallback = others.get(agent.models.fallback ?? "")?.provider;
    return Promise.resolve({
      agent,
      provider: main.provider,
      ...(routine === undefined ? {} : { routine }),
      ...(fallback === undefined ? {} : { fallback }),
    });
  };
}
