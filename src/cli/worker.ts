/** `pawl worker`: a step worker in this terminal; Ctrl-C finishes the step in hand. */
import type { Command } from "commander";
import { readTenants } from "../app/config-files.ts";
import { readLiveModel } from "../app/live-model.ts";
import { readConfig } from "../app/config.ts";
import { useRedis } from "../app/local-redis.ts";
import { startStepProcess, startSweeping, stopOnSignal } from "../app/step-process.ts";
import { agentPacks } from "../app/wire.ts";
import { PawlError } from "../core/errors.ts";
import { createLogger } from "../telemetry/log.ts";

export function addWorkerCommand(program: Command): void {
  program
    .command("worker")
    .description("work on runs until stopped")
    .option("--concurrency <n>", "steps at a time (default: PAWL_CONCURRENCY or 50)")
    .option("--json", "log lines are JSON anyway")
    .action(async (flags: { concurrency?: string }) => {
      await work(flags.concurrency);
    });
}

async function work(given: string | undefined): Promise<void> {
  const config = readConfig();
  const concurrency = given === undefined ? config.PAWL_CONCURRENCY : Number(given);
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1_000) {
    throw new PawlError("PAWL_USAGE", "--concurrency takes a whole number from 1 to 1000");
  }
  const logger = createLogger(config.PAWL_LOG_LEVEL ?? "info");
  const redis = await useRedis(config.REDIS_URL, "kept");
  const service = await startStepProcess({
    url: redis.url,
    prefix: config.PAWL_PREFIX,
    concurrency,
    logger,
    tenants: readTenants(config),
    live: await readLiveModel(config, agentPacks().values()),
    metricsPort: config.PAWL_METRICS_PORT,
  });
  const sweeping = startSweeping(service.backbone, logger);
  stopOnSignal(async () => {
    sweeping.stop();
    await service.stop();
    await redis.stop();
  });
}
