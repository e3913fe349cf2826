/**
 * The model of a case for a worker: each turn is asked where its reply can be given, in the process
 * or by the real client from the case's endpoint. What is reserved is counted in one way for all,
 * so that a case ends the same however its model is asked.
 */
import type { ModelRequest, Provider } from "../providers/provider.ts";
import type { ScriptedModel } from "../providers/turn-script.ts";
import type { Case } from "./case.ts";
import { rawReplyAt } from "./case-mind.ts";
import type { Wire } from "./model-endpoint.ts";
import type { CaseProvider, ModelEndpointRef } from "./world.ts";

/** Opens the real adapter of a wire on an address. */
export type OpenWire = (options: {
  readonly api: Wire;
  readonly baseUrl: string;
  readonly model: ScriptedModel;
}) => Promise<Provider>;

/** Whether a case needs an endpoint to run with this provider. */
export function needsEndpoint(file: Case, provider: CaseProvider): boolean {
  return provider !== "scripted" || file.replies.some((_, i) => rawReplyAt(file, i) !== null);
}

export function createCaseProvider(
  file: Case,
  { model, scripted }: { readonly model: ScriptedModel; readonly scripted: Provider },
  { url, provider }: ModelEndpointRef,
  open: OpenWire,
): Provider {
  return {
    model: scripted.model,
    price: scripted.price,
    countInput: (request) => scripted.countInput(request),
    async decide(request: ModelRequest, signal) {
      const api = wireAt(file, request.turn, provider);
      if (api === null) return scripted.decide(request, signal);
      const baseUrl = `${url}/${request.turn}/v1`;
      return (await open({ api, baseUrl, model })).decide(request, signal);
    },
  };
}

/** A raw body can only be read by its own wire; null: the reply is given in the process. */
function wireAt(file: Case, turn: number, provider: CaseProvider): Wire | null {
  const raw = rawReplyAt(file, turn);
  if (raw?.chat !== undefined) return "chat";
  if (raw?.response !== undefined) return "responses";
  if (provider !== "scripted") return provider;
  return raw === null ? null : "responses";
}
