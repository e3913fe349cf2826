/**
 * Every Redis key of Pawl. All share the hash tag of the prefix, so that one script may touch a
 * run and its queue on Redis Cluster too.
 */
import { PawlError } from "../core/errors.ts";

/** No colon: BullMQ refuses it in job ids, and `<run>.<step>` must stay readable. */
const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

export interface RedisKeys {
  readonly prefix: string;
  readonly run: (runId: string) => string;
  readonly events: (runId: string) => string;
  readonly inbox: (runId: string) => string;
  readonly result: (runId: string, callId: string) => string;
  readonly approval: (approvalId: string) => string;
  readonly effect: (idempotencyKey: string) => string;
  readonly effectsOf: (customerId: string) => string;
  /** The day is a date such as 2026-12-03. */
  readonly tenantDay: (tenant: string, day: string) => string;
  readonly gate: (name: string) => string;
  /** The channel of interrupts. */
  readonly interrupts: string;
  readonly all: string;
  readonly live: string;
  /** Running runs by the moment at which their time is over. */
  readonly deadlines: string;
  readonly byStatus: (status: string) => string;
  readonly byTicket: (ticketId: string) => string;
}

/** Takes a prefix such as `{pawl}`; throws PAWL_CONFIG_INVALID where it has no hash tag. */
export function redisKeys(prefix: string): RedisKeys {
  if (!/^\{[A-Za-z0-9_.-]+\}$/.test(prefix)) {
    throw new PawlError("PAWL_CONFIG_INVALID", "the prefix must be a hash tag such as {pawl}", {
      path: "PAWL_PREFIX",
    });
  }
  const run = (runId: string): string => {
    if (!RUN_ID.test(runId)) {
      throw new PawlError("PAWL_RUN_NOT_FOUND", "a run id holds letters, digits, - and _ only");
    }
    return `${prefix}:run:${runId}`;
  };
  return {
    prefix,
    run,
    events: (runId) => `${run(runId)}:events`,
    inbox: (runId) => `${run(runId)}:inbox`,
    result: (runId, callId) => `${run(runId)}:result:${callId}`,
    approval: (approvalId) => `${prefix}:approval:${approvalId}`,
    effect: (idempotencyKey) => `${prefix}:effect:${idempotencyKey}`,
    effectsOf: (customerId) => `${prefix}:customer:${customerId}:effects`,
    tenantDay: (tenant, day) => `${prefix}:tenant:${tenant}:day:${day}`,
    gate: (name) => `${prefix}:gate:${name}`,
    interrupts: `${prefix}:interrupts`,
    all: `${prefix}:runs`,
    live: `${prefix}:runs:live`,
    deadlines: `${prefix}:runs:deadlines`,
    byStatus: (status) => `${prefix}:runs:status:${status}`,
    byTicket: (ticketId) => `${prefix}:runs:ticket:${ticketId}`,
  };
}
