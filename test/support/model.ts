/** Models that live in the test's process: a reply is a function of the request. */
import { NO_USAGE } from "../../src/core/decision.ts";
import type { Json } from "../../src/core/json.ts";
import type {
  ModelCall,
  ModelReply,
  ModelRequest,
  Provider,
} from "../../src/providers/provider.ts";
import { callOf } from "./run-fixture.ts";

export interface TestModel extends Provider {
  /** Every request that left, in order. */
  readonly requests: ModelRequest[];
}

export function modelOf(
  decide: (request: ModelRequest, signal: AbortSignal) => ModelReply | Promise<ModelReply>,
  changes: Partial<Provider> = {},
): TestModel {
  const requests: ModelRequest[] = [];
  return {
    model: "test",
    price: null,
    countInput: () => ({ tokens: 0, isMetered: false }),
    requests,
    async decide(request, signal) {
      requests.push(request);
      return decide(request, signal);
    },
    ...changes,
  };
}

/** All that the messages of a request say. */
export function textOf(request: Pick<ModelRequest, "messages"> | undefined): string {
  return (request?.messages ?? []).map((message) => message.text ?? "").join("\n");
}

/** One reply after the other, counted by the decisions so far: a lost reply comes again. */
export function scriptOf(
  replies: readonly ModelReply[],
  changes: Partial<Provider> = {},
): TestModel {
  return modelOf(({ turn }) => {
    const reply = replies[turn];
    if (reply === undefined) throw new Error(`the script has no reply ${turn}`);
    return reply;
  }, changes);
}

/** A reply with these calls and nothing odd about it. */
export function reply(...calls: readonly (readonly [tool: string, args: Json])[]): ModelReply {
  const made = calls.map(([tool, args]): ModelCall => {
    const { id: _id, ...call } = callOf(tool, args);
    return { ...call, expected: call.expected };
  });
  return { finish: "tool_calls", text: null, calls: made, usage: NO_USAGE };
}

export const ANSWER = reply(["answer_user", { message: "Done." }]);
export const GET_ORDER = reply(["get_order", { orderId: "A-1" }]);
export const ASK = reply(["ask_clarification", { question: "Which order?" }]);
