import { describe, expect, test } from "vitest";
import { findingsOf, nodeFinding, priceFinding } from "../../src/cli/doctor.ts";
import { PRICE } from "../support/price.ts";

const INFO = [
  "# Server\r",
  "redis_version:7.0.15\r",
  "# Memory\r",
  "maxmemory_policy:noeviction\r",
  "# Persistence\r",
  "aof_enabled:1\r",
].join("\n");

function failing(info: string): readonly string[] {
  const failed = findingsOf({ info, appendFsync: null }).filter((finding) => !finding.ok);
  return failed.map(({ check, found }) => `${check} ${found}`);
}

test("a Redis as Pawl needs it has nothing to mend", () => {
  expect(findingsOf({ info: INFO, appendFsync: "everysec" })).toEqual([
    { check: "redis-version", ok: true, needed: true, found: "7.0.15", advice: null },
    {
      check: "appendonly",
      ok: true,
      needed: true,
      found: "yes, appendfsync everysec",
      advice: null,
    },
    { check: "maxmemory-policy", ok: true, needed: true, found: "noeviction", advice: null },
  ]);
});

test.each([
  ["too old", INFO.replace("7.0.15", "6.0.20"), "redis-version 6.0.20"],
  ["of a major before", INFO.replace("7.0.15", "5.9.0"), "redis-version 5.9.0"],
  ["without a version", INFO.replace("redis_version", "other"), "redis-version unknown"],
  ["without AOF", INFO.replace("aof_enabled:1", "aof_enabled:0"), "appendonly no"],
  ["that evicts", INFO.replace("noeviction", "allkeys-lru"), "maxmemory-policy allkeys-lru"],
])("a Redis %s is told with advice", (_, info, told) => {
  expect(failing(info)).toEqual([told]);
  const found = findingsOf({ info, appendFsync: null }).find((finding) => !finding.ok);
  expect(found?.advice).toMatch(/^(set|install) /);
});

test.each([
  ["20.19.0", true],
  ["22.0.0", true],
  ["20.18.3", false],
  ["18.20.0", false],
])("Node %s is enough: %s", (version, ok) => {
  expect(nodeFinding(version)).toMatchObject({ ok, found: version });
});

describe("priceFinding", () => {
  test("a known price is told per million tokens, with where it comes from", () => {
    const found = priceFinding("m", { known: true, price: PRICE, source: "configuration" });
    expect(found).toMatchObject({ ok: true, advice: null });
    expect(found.found).toBe("m: 3 + 15 USD per million tokens in and out (configuration)");
  });

  test("an unknown one is no fault of the installation, and has its advice", () => {
    const found = priceFinding("m", { known: false, why: "nobody knows" });
    expect(found).toMatchObject({ ok: false, needed: false, found: "nobody knows" });
    expect(found.advice).toContain("PAWL_PRICES");
  });
});
