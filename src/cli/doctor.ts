/**
 * `pawl doctor`: what an installation needs, each finding with what to do about it. Exit 1 if a
 * needed one fails, 2 if the configuration or Redis cannot be used at all. Changes nothing.
 */
import type { Command } from "commander";
import { readTenants } from "../app/config-files.ts";
import { readConfig, type Config } from "../app/config.ts";
import { useRedis, type UsedRedis } from "../app/local-redis.ts";
import { priceReader } from "../app/model-price.ts";
import { connectRedis } from "../app/wire.ts";
import { PawlError } from "../core/errors.ts";
import type { PriceAnswer } from "../providers/pricing.ts";
import { EXIT, paint, print, printJson } from "./command.ts";
import { oneLine } from "./table.ts";

export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** One that is not needed is advice only and changes no exit code. */
  readonly needed: boolean;
  readonly found: string;
  /** Null where there is nothing to do. */
  readonly advice: string | null;
}

/** What Redis says of itself, by section of INFO. */
export interface RedisFacts {
  readonly info: string;
  /** Null where CONFIG is forbidden, as managed services do. */
  readonly appendFsync: string | null;
}

const MIN_NODE = [20, 19] as const;
/** ZRANGE BYSCORE and what BullMQ asks for. */
const MIN_REDIS = [6, 2] as const;

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check Node, Redis and the configuration; each finding with what to do")
    .option("--json", "one JSON line a finding")
    .action(async (flags: { readonly json?: boolean }) => {
      process.exitCode = await doctor(flags.json === true);
    });
}

async function doctor(asJson: boolean): Promise<number> {
  const node = nodeFinding(process.versions.node);
  const config = configOrFinding();
  const findings =
    "check" in config
      ? [node, config]
      : [node, ...(await redisFindings(config)), ...settings(config), ...(await bills(config))];
  for (const finding of findings) {
    if (asJson) printJson(finding);
    else findingLines(finding).forEach(print);
  }
  const failed = findings.filter(({ ok, needed }) => needed && !ok);
  if (!asJson) {
    const told = failed.map(({ check }) => check).join(", ");
    print(failed.length === 0 ? paint("green", "all that is needed is there") : `to mend: ${told}`);
  }
  if (failed.some(({ check }) => check === "config" || check === "redis")) return EXIT.usage;
  return failed.length > 0 ? EXIT.failed : EXIT.done;
}

function configOrFinding(): Config | Finding {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return needed("config", false, error.message, "correct it; .env.example lists every name");
  }
}

async function redisFindings(config: Config): Promise<Finding[]> {
  const given = config.REDIS_URL;
  let used: UsedRedis | null = null;
  try {
    used = await useRedis(given, "kept");
    const facts = await askRedis(used.url);
    const origin = given === undefined ? ", since REDIS_URL is not set" : "";
    const kind = used.isPrivate ? "a private one, kept in .pawl/redis" : addressOf(used.url);
    return [needed("redis", true, `${kind}${origin}`, null), ...findingsOf(facts)];
  } catch (error) {
    const why = error instanceof Error ? error.message : "no answer";
    const found = `${given === undefined ? "none" : addressOf(given)}: ${why}`;
    const advice =
      error instanceof PawlError && error.code === "PAWL_REDIS_NOT_FOUND"
        ? "install redis-server, or set REDIS_URL"
        : "check that it runs and that host, port, password and TLS of REDIS_URL are right";
    return [needed("redis", false, found, advice)];
  } finally {
    await used?.stop();
  }
}

async function askRedis(url: string): Promise<RedisFacts> {
  const redis = connectRedis(url, { once: true });
  // Told here only: the promise of the connection says no more than that it is closed.
  let cause: unknown = null;
  redis.on("error", (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    const info = await redis.info();
    const fsync = await redis.config("GET", "appendfsync").catch(() => null);
    return { info, appendFsync: Array.isArray(fsync) ? String(fsync[1]) : null };
  } catch (error) {
    throw cause instanceof Error ? cause : error;
  } finally {
    redis.disconnect();
  }
}

/** Host and port only: a URL may hold a password. */
function addressOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "an address that is no URL";
  }
}

export function nodeFinding(version: string): Finding {
  const advice = `install Node ${MIN_NODE.join(".")} or newer`;
  return needed("node", isAtLeast(version, MIN_NODE), version, advice);
}

/** What Redis must be so that nothing accepted is lost. */
export function findingsOf({ info, appendFsync }: RedisFacts): Finding[] {
  const field = (name: string): string =>
    new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1] ?? "unknown";
  const version = field("redis_version");
  const hasAof = field("aof_enabled") === "1";
  const policy = field("maxmemory_policy");
  const fsync = appendFsync === null ? "" : `, appendfsync ${appendFsync}`;
  return [
    needed(
      "redis-version",
      isAtLeast(version, MIN_REDIS),
      version,
      `install Redis ${MIN_REDIS.join(".")} or newer, or Valkey`,
    ),
    needed(
      "appendonly",
      hasAof,
      hasAof ? `yes${fsync}` : "no",
      "set appendonly yes: without it a restart of Redis loses every run since the last snapshot",
    ),
    needed(
      "maxmemory-policy",
      policy === "noeviction",
      policy,
      "set maxmemory-policy noeviction: any other lets Redis drop runs and jobs in silence",
    ),
  ];
}

function settings(config: Config): Finding[] {
  const hasKey = config.OPENAI_API_KEY !== undefined;
  return [
    {
      check: "provider-key",
      ok: hasKey,
      needed: false,
      found: hasKey ? "OPENAI_API_KEY is set" : "OPENAI_API_KEY is not set",
      advice: hasKey ? null : "set it to work with a model; scenarios and cases need none",
    },
    needed("prefix", true, config.PAWL_PREFIX, null),
  ];
}

/** What money limits stand on: the files that the environment names, and the model's price. */
async function bills(config: Config): Promise<Finding[]> {
  try {
    readTenants(config);
    // Without a key no model is asked, and there is nothing to pay.
    const { OPENAI_API_KEY: key, PAWL_MODEL: model } = config;
    if (key === undefined) return [];
    return [priceFinding(model, await priceReader(config)(model))];
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return [needed("config", false, error.message, "correct the file; docs/budgets.md shows both")];
  }
}

export function priceFinding(model: string, answer: PriceAnswer): Finding {
  if (!answer.known) {
    const advice = "give its price in PAWL_PRICES; until then money limits are refused";
    return { check: "price", ok: false, needed: false, found: answer.why, advice };
  }
  const { inputMicroUsdPerMTok: input, outputMicroUsdPerMTok: output } = answer.price;
  const usd = `${input / 1e6} + ${output / 1e6} USD per million tokens in and out`;
  return needed("price", true, `${model}: ${usd} (${answer.source})`, null);
}

function needed(check: string, ok: boolean, found: string, advice: string | null): Finding {
  return { check, ok, needed: true, found, advice: ok ? null : advice };
}

/** `7.0.15` against major and minor; what is no version is not enough. */
function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = Number.NaN, b = 0] = version.split(".").map(Number);
  return a > major || (a === major && b >= minor);
}

const CHECK_WIDTH = 18;

function findingLines({ check, ok, needed: isNeeded, found, advice }: Finding): string[] {
  const mark = ok
    ? paint("green", "ok  ")
    : isNeeded
      ? paint("red", "FAIL")
      : paint("yellow", "note");
  return [
    `${mark}  ${check.padEnd(CHECK_WIDTH)}${oneLine(found, 200)}`,
    ...(advice === null ? [] : [`      ${" ".repeat(CHECK_WIDTH)}${advice}`]),
  ];
}
