/** A thousand runs that wait for a person: they cost nothing while they wait, and end on time. */
import { expect, test } from "vitest";
import { z } from "zod";
import { parseRunState } from "../../src/core/run-state.ts";
import { decideApproval } from "../../src/step/decide-approval.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { systemClock } from "../../src/app/clock.ts";
import { openCrew, type Crew } from "../support/crew.ts";
import { reply, scriptOf } from "../support/model.ts";
import { until } from "../support/until.ts";

const RUNS = 1_000;
/** Long enough that all are parked before the first is over. */
const EXPIRES_MS = 25_000;
const GRACE_MS = 1_000;

const refund = defineTool({
  name: "create_refund",
  effect: "write",
  description: "",
  input: z.strictObject({ orderId: z.string() }),
  about: { orderId: "/orderId" },
  facts: { "refund.id": "/id" },
  confirm: { pointer: "/state", equals: "done" },
  handler: () => Promise.reject(new Error("nobody approved it")),
});

async function commandsOf({ redis }: Crew): Promise<number> {
  const [, count] = /total_commands_processed:(\d+)/.exec(await redis.info("stats")) ?? [];
  return Number(count);
}

test(
  "a thousand approvals wait without worker, lock or poll, and expire with every worker down",
  { timeout: 120_000 },
  async () => {
    const crew = await openCrew(
      scriptOf([reply(["request_refund_approval", { orderId: "A-1" }])]),
      {
        tools: [refund],
        approvals: {
          request_refund_approval: { executes: "create_refund", expiresMs: EXPIRES_MS },
        },
      },
    );
    const { redis, keys, queueKey, store } = crew;
    const first = await crew.hire({ concurrency: 50 });
    const runs: string[] = [];
    for (let i = 0; i < RUNS; i += 1) runs.push(await crew.accept(`T-${i}`));
    await until(async () => (await redis.zcard(queueKey("delayed"))) === RUNS);

    // Nothing is held: no job is in hand, no lock lives, and idle costs what idle costs.
    await until(async () => (await redis.llen(queueKey("active"))) === 0);
    expect(await redis.keys(`${keys.prefix}*:lock`)).toEqual([]);
    const before = await commandsOf(crew);
    await until(async () => (await redis.llen(queueKey("active"))) === 0);
    expect((await commandsOf(crew)) - before).toBeLessThan(50);

    // Every worker is down when the time comes; a decision that comes too late is refused even so.
    await first.close(GRACE_MS);
    const last = parseRunState((await store.read(runs.at(-1) ?? ""))?.json ?? "");
    const over = last.pending?.expiresAt ?? 0;
    expect(over).toBeGreaterThan(Date.now());
    await until(() => Date.now() > over, EXPIRES_MS + GRACE_MS);
    const approval = {
      approvalId: last.pending?.id ?? "",
      decision: "approved",
      by: "ann",
    } as const;
    const deps = { store, newId: systemClock.newId };
    expect(await decideApproval(deps, { ...approval, note: null })).toBe("approval_expired");

    await crew.hire({ concurrency: 50 });
    await until(async () => (await redis.zcard(queueKey("delayed"))) === 0);
    const ends = await Promise.all(runs.map((runId) => crew.ended(runId)));
    const reasons = new Set(ends.map(({ status, reason }) => `${status}/${reason}`));
    expect(reasons).toEqual(new Set(["handoff/approval_expired"]));
    expect(await redis.zcard(queueKey("delayed"))).toBe(0);
  },
);
