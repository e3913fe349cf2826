/**
 * The only reader of the environment. One schema; an unknown PAWL_ name is refused with the nearest
 * known one, since a misspelt limit that is silently ignored is worse than a start that fails.
 */
import { z } from "zod";
import { PawlError } from "../core/errors.ts";

const configSchema = z.object({
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, "expected redis://… or rediss://…")
    .optional(),
  PAWL_PREFIX: z
    .string()
    .regex(/^\{[A-Za-z0-9_.-]+\}$/, "expected a hash tag such as {pawl}")
    .default("{pawl}"),
  PAWL_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(50),
  PAWL_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).optional(),
  PAWL_MODEL: z.string().min(1).default("gpt-5.4-mini"),
  PAWL_API: z.enum(["responses", "chat"]).default("responses"),
  /** default, flex, batch; any other has no factor that is known. */
  PAWL_SERVICE_TIER: z.string().min(1).default("default"),
  /** A JSON file: model → price. */
  PAWL_PRICES: z.string().min(1).optional(),
  /** A JSON file: tenant → budget of a day and limits of its runs. */
  PAWL_TENANTS: z.string().min(1).optional(),
  /** Of a worker's /metrics; 0 takes a free one. Unset: none is served. */
  PAWL_METRICS_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  PAWL_PORT: z.coerce.number().int().min(0).max(65_535).default(8_080),
  PAWL_API_KEYS: z.string().optional(),
  PAWL_ENCRYPTION_KEYS: z.string().optional(),
  PAWL_WEBHOOK_SECRETS: z.string().optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: z.string().optional(),
});

export type Config = z.infer<typeof configSchema>;

/** Throws PAWL_CONFIG_INVALID or PAWL_CONFIG_UNKNOWN_NAME; the value itself is never repeated. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const known = Object.keys(configSchema.shape);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("PAWL_") || known.includes(name)) continue;
    const near = nearest(name, known);
    throw new PawlError("PAWL_CONFIG_UNKNOWN_NAME", `unknown ${name}; did you mean ${near}?`, {
      path: name,
    });
  }
  const given = Object.fromEntries(
    known.flatMap((n) => (env[n] === undefined || env[n] === "" ? [] : [[n, env[n]]])),
  );
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = String(issue?.path[0] ?? "");
  throw new PawlError("PAWL_CONFIG_INVALID", `${path}: ${issue?.message}`, { path });
}

function nearest(name: string, known: readonly string[]): string {
  const scored = known.map((other) => ({ other, distance: editDistance(name, other) }));
  return scored.reduce((best, s) => (s.distance < best.distance ? s : best)).other;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(swap, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[b.length] ?? Infinity;
}

/** The environment of a child process: ours, with some names set. */
export function childEnv(set: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...set };
}
