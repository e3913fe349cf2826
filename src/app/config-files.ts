/**
 * The JSON files that the environment names: the operator's own prices and the tenants' budgets.
 * Read once at start; a file that cannot be used ends the start, with the path inside it.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { PawlError } from "../core/errors.ts";
import { priceSchema } from "../core/price.ts";
import { limitsSchema, type GivenLimits } from "../core/run-state.ts";
import { tenantOf, type Ticket } from "../core/ticket.ts";
import type { PriceTable } from "../providers/pricing.ts";
import type { DayLimits } from "../store/tenant-account.ts";
import type { Config } from "./config.ts";

/** Null is unlimited and must be said. */
const amount = z.int().min(0).nullable();
const tenantSchema = z.strictObject({
  day: z.strictObject({ tokens: amount, moneyMicroUsd: amount }).optional(),
  limits: limitsSchema.partial().optional(),
});
const tenantsSchema = z.record(z.string().min(1), tenantSchema);
const pricesSchema = z.record(z.string().min(1), priceSchema);

/** Holds for every tenant that has no entry of its own. */
const ANY_TENANT = "*";

export interface Tenants {
  readonly dayLimits: (tenant: string) => DayLimits | null;
  readonly limits: (tenant: string) => GivenLimits | undefined;
}

/** Model → price; see `Price`. */
export function readPrices({ PAWL_PRICES: file }: Pick<Config, "PAWL_PRICES">): PriceTable {
  return file === undefined ? {} : readJsonFile("PAWL_PRICES", file, pricesSchema);
}

/** Null: no tenant has a budget of its own. */
export function readTenants({ PAWL_TENANTS: file }: Pick<Config, "PAWL_TENANTS">): Tenants | null {
  if (file === undefined) return null;
  const tenants = readJsonFile("PAWL_TENANTS", file, tenantsSchema);
  const of = (tenant: string): z.infer<typeof tenantSchema> | undefined =>
    Object.hasOwn(tenants, tenant) ? tenants[tenant] : tenants[ANY_TENANT];
  return {
    dayLimits: (tenant) => of(tenant)?.day ?? null,
    limits: (tenant) => of(tenant)?.limits,
  };
}

/** The limits that a ticket's tenant sets for its runs; undefined: none. */
export function tenantLimitsOf(tenants: Tenants | null, ticket: Ticket): GivenLimits | undefined {
  const tenant = tenantOf(ticket);
  return tenant === null ? undefined : tenants?.limits(tenant);
}

function readJsonFile<T extends z.ZodType>(name: string, file: string, schema: T): z.infer<T> {
  const fail = (what: string, path: string): never => {
    throw new PawlError("PAWL_CONFIG_INVALID", `${name}: ${what}`, { path });
  };
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const isSyntax = error instanceof SyntaxError;
    return fail(isSyntax ? "the file is not JSON" : "the file cannot be read", name);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = `/${(issue?.path ?? []).join("/")}`;
  return fail(`${path}: ${issue?.message}`, path);
}
