import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readPrices, readTenants } from "../../src/app/config-files.ts";
import { PRICE } from "../support/price.ts";

function fileOf(content: unknown): string {
  const dir = mkdtempSync(join(tmpdir(), "pawl-config-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "file.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const tenantsOf = (content: unknown) => readTenants({ PAWL_TENANTS: fileOf(content) });
const pricesOf = (content: unknown) => readPrices({ PAWL_PRICES: fileOf(content) });

describe("readTenants", () => {
  const acme = { day: { tokens: null, moneyMicroUsd: 500 }, limits: { steps: 3 } };

  test("a tenant has its own entry, and any other the common one", () => {
    const common = { day: { tokens: 10, moneyMicroUsd: 0 } };
    const tenants = tenantsOf({ acme, "*": common });
    expect(tenants?.dayLimits("acme")).toEqual(acme.day);
    expect(tenants?.limits("acme")).toEqual({ steps: 3 });
    expect(tenants?.dayLimits("other")).toEqual(common.day);
    expect(tenants?.limits("other")).toBeUndefined();
  });

  test("without a common entry another tenant has no budget, whatever its name", () => {
    const tenants = tenantsOf({ acme });
    expect(tenants?.dayLimits("other")).toBeNull();
    expect(tenants?.dayLimits("constructor")).toBeNull();
    expect(readTenants({ PAWL_TENANTS: undefined })).toBeNull();
  });

  test.each([
    ["{", "PAWL_TENANTS", "not JSON"],
    [{ acme: { day: { tokens: 1 } } }, "/acme/day/moneyMicroUsd", "expected"],
    [{ acme: { day: { tokens: -1, moneyMicroUsd: 1 } } }, "/acme/day/tokens", ">=0"],
    [{ acme: { limits: { stepz: 3 } } }, "/acme/limits", "stepz"],
    [{ acme: { limits: { steps: 1.5 } } }, "/acme/limits/steps", "int"],
    [[], "/", "expected"],
  ])("%j is refused at %s", (content, path, said) => {
    expect(() => tenantsOf(content)).toThrow(
      expect.objectContaining({ code: "PAWL_CONFIG_INVALID", path }),
    );
    expect(() => tenantsOf(content)).toThrow(said);
  });

  test("a file that is not there is told by the name of its variable", () => {
    expect(() => readTenants({ PAWL_TENANTS: "/nowhere/file.json" })).toThrow(
      expect.objectContaining({ code: "PAWL_CONFIG_INVALID", path: "PAWL_TENANTS" }),
    );
  });
});

describe("readPrices", () => {
  test("a model's price, with tiers or without", () => {
    const tiers = [{ ...PRICE, aboveInputTokens: 10 }];
    const prices = { own: PRICE, long: { ...PRICE, tiers } };
    expect(pricesOf(prices)).toEqual(prices);
    expect(readPrices({ PAWL_PRICES: undefined })).toEqual({});
  });

  test.each([
    [{ own: {} }, "/own/inputMicroUsdPerMTok"],
    [{ own: { ...PRICE, outputMicroUsdPerMTok: 0.5 } }, "/own/outputMicroUsdPerMTok"],
    [{ own: { ...PRICE, tiers: [{}] } }, "/own/tiers/0/aboveInputTokens"],
  ])("%j is refused at %s", (content, path) => {
    expect(() => pricesOf(content)).toThrow(
      expect.objectContaining({ code: "PAWL_CONFIG_INVALID", path }),
    );
  });
});
