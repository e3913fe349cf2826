/**
 * Ticket in, run out: the run record and its first job are one atomic write, or the ticket is
 * refused with an error. Nothing in between.
 */
import type { AgentSpec } from "../core/agent-spec.ts";
import { PawlError } from "../core/errors.ts";
import type { Event } from "../core/event.ts";
import { kindOf } from "../core/json.ts";
import { limitsFor } from "../core/limits.ts";
import type { Price } from "../core/price.ts";
import { replay } from "../core/reduce.ts";
import type { GivenLimits, Limits } from "../core/run-state.ts";
import { postconditionQuestions } from "../core/terminal.ts";
import { ticketSchema, type Ticket } from "../core/ticket.ts";
import type { RunStore } from "../store/run-store.ts";

export interface AcceptDeps {
  readonly store: Pick<RunStore, "create">;
  readonly now: () => number;
  readonly newId: () => string;
}

export interface Acceptance {
  readonly agent: AgentSpec;
  readonly ticket: Ticket;
  /** In place of the agent's own, within its ceiling. */
  readonly limits?: GivenLimits | undefined;
  readonly tenantLimits?: GivenLimits | undefined;
  /** The models that may be asked; without any, nothing can be paid. */
  readonly models?: readonly PricedModel[];
}

export interface PricedModel {
  readonly name: string;
  /** Null: it costs nothing. */
  readonly price: Price | null | "unknown";
}

/**
 * Takes anything; returns the ticket or throws PAWL_TICKET_INVALID with the path, never the text.
 */
export function parseTicket(input: unknown): Ticket {
  const parsed = ticketSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = `/${(issue?.path ?? []).join("/")}`;
  const kind = issue?.path.length === 0 ? ` (${kindOf(input)})` : "";
  throw new PawlError("PAWL_TICKET_INVALID", `ticket ${path}${kind}: ${issue?.message}`, { path });
}

/** A money limit that cannot be counted would be none: it is refused before any run is made. */
function refuseUnpriced(limits: Limits, models: readonly PricedModel[]): void {
  const unpriced = models.find((model) => model.price === "unknown");
  if (limits.moneyMicroUsd === null || unpriced === undefined) return;
  const message = `a money limit needs the price of ${unpriced.name}, which is not known`;
  throw new PawlError("PAWL_PRICE_UNKNOWN", message, { path: "/limits/moneyMicroUsd" });
}

/**
 * Creates the run; returns its id. Throws PAWL_LIMIT_ABOVE_CEILING or PAWL_PRICE_UNKNOWN before
 * anything is written.
 */
export async function acceptTicket(deps: AcceptDeps, accepted: Acceptance): Promise<string> {
  const { agent, ticket } = accepted;
  const given = { tenant: accepted.tenantLimits, run: accepted.limits };
  const limits = limitsFor(agent, given);
  refuseUnpriced(limits, accepted.models ?? []);
  const runId = deps.newId();
  const event: Event = {
    type: "accepted",
    v: 1,
    at: deps.now(),
    step: 1,
    runId,
    agent: { name: agent.name, version: agent.version },
    ticket,
    limits,
    questions: postconditionQuestions(agent),
  };
  const events = [event];
  const run = { runId, ticketId: ticket.id, state: replay(events), events };
  if (await deps.store.create(run)) return runId;
  throw new Error(`the run id ${runId} is taken`);
}
