/** The model of real runs, from the environment: its wire, its price, and which runs it steps. */
import type { AgentPack } from "../agents/agent.ts";
import type { PricedModel } from "../ingest/accept-ticket.ts";
import type { Provider } from "../providers/provider.ts";
import type { StepDeps } from "../step/work.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { priceReader } from "./model-price.ts";
import { openAiProvider } from "./wire.ts";

export interface LiveModel {
  readonly provider: Provider;
  /** For the acceptance of tickets: a money limit needs a price. */
  readonly priced: PricedModel;
}

/** Null: no key is set, so this process steps scripted runs only. */
export async function readLiveModel(config: Config): Promise<LiveModel | null> {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, PAWL_MODEL: model } = config;
  if (apiKey === undefined) return null;
  const { PAWL_API: api, PAWL_SERVICE_TIER: serviceTier } = config;
  const { now } = systemClock;
  const answer = await priceReader(config)(model);
  const price = answer.known ? answer.price : null;
  return {
    provider: await openAiProvider({ api, apiKey, baseUrl, model, price, serviceTier, now }),
    priced: { name: model, price: answer.known ? answer.price : "unknown" },
  };
}

/** Any version of an agent is stepped by the one that this process has. */
export function liveResolver(
  packs: ReadonlyMap<string, AgentPack>,
  { provider }: LiveModel,
): StepDeps["resolve"] {
  return (state) => {
    const agent = packs.get(state.agent.name);
    return Promise.resolve(agent === undefined ? null : { agent, provider });
  };
}
