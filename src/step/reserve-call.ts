/**
 * The reservation of one model call, on disk before the call leaves: of the run's own limits and,
 * where the ticket's tenant has a budget for the day, of that day too, in one atomic write.
 */
import { reserve, type DayLeft } from "../core/budget.ts";
import type { EventOf } from "../core/event.ts";
import { isLastTry } from "../core/retry.ts";
import type { Amount } from "../core/run-state.ts";
import { stop } from "../core/stop.ts";
import { tenantOf } from "../core/ticket.ts";
import type { InputCount, Provider, UncappedRequest } from "../providers/provider.ts";
import { dayOf, type AccountDay, type DayLimits } from "../store/tenant-account.ts";
import { finishWithStop, type Finished } from "./finish.ts";
import { take, type StepDeps, type Work } from "./work.ts";

/** One decision that is wanted: of which model, by which route, with what in view. */
export interface Asked {
  readonly provider: Provider;
  readonly route: "main" | "routine" | "fallback";
  readonly draft: UncappedRequest;
  readonly count: InputCount;
}

/** Other runs of the tenant may take what was just seen to be left; then it is looked at anew. */
const MOST_LOOKS = 5;

/** gatedMs: no request may leave before, since the model's gate is shut. */
export type Reserved =
  | { readonly outputCap: number; readonly isProbe: boolean }
  | { readonly gatedMs: number };

/** Returns the output cap of the call, or how the step ended without it. */
export async function reserveCall(
  deps: StepDeps,
  work: Work,
  asked: Asked,
): Promise<Reserved | Finished> {
  const { count, provider, route } = asked;
  const account = accountOf(deps, work);
  let day: DayLeft | null = null;
  let short: "tokens_exceeded" | "money_exceeded" = "money_exceeded";
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const made = reserve(work.state, count.tokens, provider.price, day);
    if (!made.ok) return finishWithStop(deps, work, made.stop);
    // A model that counts and costs nothing has nothing to lose in a crash: no extra round trip.
    if (!count.isMetered && account === null) {
      return { outputCap: made.outputCap, isProbe: false };
    }
    const event: EventOf<"reserved"> = {
      type: "reserved",
      at: deps.now(),
      step: work.state.step,
      ...made.amount,
      model: provider.model,
      route,
      price: provider.price,
      ...(account === null ? {} : { account: { tenant: account.tenant, day: account.day } }),
    };
    const move = account === null ? null : { op: "reserve" as const, ...account, ...made.amount };
    const fresh = [...work.events.slice(work.journaled), event];
    const isAsked = deps.gates !== undefined && provider.gate !== undefined;
    const gate = isAsked ? { name: provider.gate, canWait: isLastTry(work.state) } : null;
    const written = await deps.store.journal(work.fence, fresh, move, gate);
    if (typeof written === "object") return written;
    if (written === "applied" || written === "probe") {
      take(work, event);
      work.journaled = work.events.length;
      work.hold = account;
      return { outputCap: made.outputCap, isProbe: written === "probe" };
    }
    if (written === "conflict" || account === null) return "lost";
    short = written === "no_tokens" ? "tokens_exceeded" : "money_exceeded";
    day = await leftOf(deps, account);
  }
  const detail = `the other runs of tenant ${account?.tenant} use up its day`;
  return finishWithStop(deps, work, stop("budget_exhausted", short, detail));
}

/** What the next journal write gives back to the tenant's day, and what it spends of it. */
export function settleLater(work: Work, spent: Amount): void {
  if (work.hold === null) return;
  work.settle = { op: "settle", ...work.hold, ...spent };
  work.hold = null;
}

type Account = AccountDay & { readonly most: DayLimits };

/** Null: the ticket names no tenant, or its tenant has no budget. */
function accountOf(deps: StepDeps, { state }: Work): Account | null {
  const tenant = tenantOf(state.ticket);
  if (tenant === null || deps.tenants === undefined) return null;
  const most = deps.tenants.dayLimits(tenant);
  return most === null ? null : { tenant, day: dayOf(deps.now()), most };
}

async function leftOf(deps: StepDeps, { tenant, day, most }: Account): Promise<DayLeft | null> {
  const now = await deps.tenants?.read({ tenant, day });
  if (now === undefined) return null;
  const left = (limit: number | null, of: "tokens" | "moneyMicroUsd"): number | null =>
    limit === null ? null : limit - now.spent[of] - now.held[of];
  return {
    tenant,
    tokens: left(most.tokens, "tokens"),
    moneyMicroUsd: left(most.moneyMicroUsd, "moneyMicroUsd"),
  };
}
