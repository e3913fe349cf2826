/** A person's yes or no, given by processes of their own: decided once, carried out once. */
import { describe, expect, test } from "vitest";
import {
  AGENT,
  ASK_REFUND,
  caseOf,
  linesOf,
  openDesk,
  REFUND,
  refusalOf,
} from "../support/operator-desk.ts";

async function parked(file = REFUND) {
  const desk = await openDesk();
  await desk.hire();
  const runId = await desk.begin(file);
  await desk.waiting(runId);
  const effects = async () => (await desk.world(runId)).effects["create_refund"] ?? 0;
  return { ...desk, runId, id: `${runId}-a1`, effects };
}

describe("approvals", () => {
  test("tells what waits, newest first, with the evidence it rests on", async () => {
    const desk = await parked();
    const later = await desk.begin(REFUND);
    const { pending } = await desk.waiting(later);
    const rows = await linesOf(desk.pawl("approvals", "--json"));
    expect(rows).toMatchObject([
      {
        id: `${later}-a1`,
        run: later,
        ticket: "T-7",
        agent: { name: "desk" },
        tool: "create_refund",
        args: { orderId: "A-1", amountCents: 2_000 },
        argsHash: pending?.argsHash,
        requested: pending?.requestedAt,
        expires: pending?.expiresAt,
        evidence: [
          { key: "order.status", value: "delivered", tool: "get_order", pointer: "/status" },
        ],
      },
      { id: desk.id },
    ]);
    const { stdout } = await desk.pawl("approvals");
    expect(stdout).toMatch(new RegExp(`^${later}-a1  create_refund\n`));
    expect(stdout).toContain(`{"orderId":"A-1","amountCents":2000}`);
    expect(stdout).toContain(`order.status = "delivered"  (step 1, c1 get_order /status, `);
  });

  test("are none where nobody is asked", async () => {
    const desk = await openDesk();
    expect(await linesOf(desk.pawl("approvals", "--json"))).toEqual([]);
    expect((await desk.pawl("approvals")).stdout).toBe("nothing waits for an approval\n");
  });

  test("name a waiting run that cannot be read", async () => {
    const desk = await parked();
    const json = (await desk.redis.hget(desk.keys.run(desk.runId), "json")) ?? "";
    await desk.redis.hset(desk.keys.run(desk.runId), "json", json.replace(`"v":1`, `"v":9`));
    expect(await linesOf(desk.pawl("approvals", "--json"))).toMatchObject([
      { run: desk.runId, error: { code: "PAWL_STATE_UNREADABLE", path: "/v" } },
    ]);
    expect((await desk.pawl("approvals")).stdout).toContain("PAWL_STATE_UNREADABLE at /v");
  });
});

describe("approve", () => {
  test("in two processes at the same moment makes one effect, and tells the second", async () => {
    const { pawl, ended, runId, id, effects } = await parked();
    const both = await Promise.all(
      ["ann", "bob"].map((by) => pawl("approve", id, "--by", by, "--json")),
    );
    const [first, second] = both.toSorted((a, b) => a.code - b.code);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(JSON.parse(second?.stderr ?? "")).toMatchObject({ error: { code: "already_decided" } });
    const { by } = JSON.parse(first?.stdout ?? "") as { by: string };
    expect(await ended(runId)).toMatchObject({
      status: "completed",
      reason: "effect_confirmed",
      approvals: [{ id, status: "used", by }],
    });
    expect(await effects()).toBe(1);
  });

  test("says what happens next, and later who decided", async () => {
    const { pawl, ended, runId, id } = await parked();
    const yes = await pawl("approve", id, "--by", "ann", "--note", "seen the photos");
    expect(yes).toMatchObject({ code: 0, stderr: "" });
    expect(yes.stdout).toContain("carries it out once");
    expect(await ended(runId)).toMatchObject({
      approvals: [{ by: "ann", note: "seen the photos" }],
    });
    const again = await pawl("approve", id, "--by", "bob");
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toMatch(/^already_decided: .* by ann and is used\n$/);
  });

  test("of a made-up id does nothing, whether or not there is such a run", async () => {
    const { pawl, runId, state, effects } = await parked();
    const before = await state(runId);
    for (const id of [`${runId}-a2`, runId, "no-such-run-a1", "no such run-a1", "-a1"]) {
      const refused = await refusalOf(pawl("approve", "--by", "eve", "--json", "--", id));
      expect(refused).toMatchObject({ code: "unknown_approval" });
    }
    expect(await state(runId)).toEqual(before);
    expect(await effects()).toBe(0);
  });

  test("of arguments that were altered in Redis does nothing", async () => {
    const { pawl, redis, keys, runId, id, state, effects } = await parked();
    const altered = await state(runId);
    const pending = { ...altered.pending, args: { orderId: "A-1", amountCents: 900_000 } };
    await redis.hset(keys.run(runId), "json", JSON.stringify({ ...altered, pending }));
    const refused = await refusalOf(pawl("approve", id, "--by", "ann", "--json"));
    expect(refused).toMatchObject({ code: "arguments_changed" });
    expect((await state(runId)).status).toBe("waiting");
    expect(await effects()).toBe(0);
  });

  test("of other arguments than those that were shown does nothing; of those, all", async () => {
    const { pawl, runId, id, state, ended, effects } = await parked();
    const yes = ["approve", id, "--by", "ann", "--json", "--args-hash"];
    const other = await refusalOf(pawl(...yes, "0".repeat(64)));
    expect(other).toMatchObject({ code: "arguments_changed" });
    expect(await effects()).toBe(0);
    const { pending } = await state(runId);
    const [said] = await linesOf(pawl(...yes, pending?.argsHash ?? ""));
    expect(said).toMatchObject({ id, run: runId, decision: "approved", by: "ann" });
    expect(await ended(runId)).toMatchObject({ reason: "effect_confirmed" });
  });

  test("after its time is too late, whether or not a worker has noticed", async () => {
    const { pawl, redis, keys, runId, id, state } = await parked();
    await redis.hset(keys.run(runId), "approval_until", Date.now() - 1);
    const refused = await refusalOf(pawl("approve", id, "--by", "ann", "--json"));
    expect(refused).toMatchObject({ code: "approval_expired" });
    expect((await state(runId)).status).toBe("waiting");
  });

  test("of a run that ended without it says how the run ended", async () => {
    const approvals = { request_refund_approval: { executes: "create_refund", expiresMs: 1 } };
    const file = caseOf([ASK_REFUND], { agent: { ...AGENT, approvals } });
    const desk = await openDesk();
    await desk.hire();
    const runId = await desk.begin(file);
    expect(await desk.ended(runId)).toMatchObject({ reason: "approval_expired" });
    const refused = await refusalOf(desk.pawl("approve", `${runId}-a1`, "--by", "ann", "--json"));
    expect(refused).toMatchObject({
      code: "run_ended",
      message: expect.stringContaining("handoff/approval_expired"),
    });
  });
});

test("reject ends the run as denied, and a later yes is told so", async () => {
  const { pawl, ended, runId, id, effects } = await parked();
  const [said] = await linesOf(pawl("reject", id, "--by", "ann", "--why", "no photos", "--json"));
  expect(said).toMatchObject({ decision: "rejected", note: "no photos", next: "run_ends_denied" });
  expect(await ended(runId)).toMatchObject({ status: "denied", reason: "approval_rejected" });
  const yes = await refusalOf(pawl("approve", id, "--by", "bob", "--json"));
  expect(yes).toMatchObject({ code: "already_decided" });
  expect(await effects()).toBe(0);
});

test.each([
  [["approve", "r-a1"]],
  [["approve", "r-a1", "--by", " "]],
  [["reject", "r-a1", "--by", "ann", "--why", ""]],
])("%j is no use of the command", async (args) => {
  const { pawl } = await openDesk();
  const ran = await pawl(...args, "--json");
  expect(ran).toMatchObject({ code: 2, stdout: "" });
  expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "PAWL_USAGE" } });
});
