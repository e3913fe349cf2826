/** One step worker process: start as many as the load needs; each may die at any time. */
import { readTenants } from "../src/app/config-files.ts";
import { readLiveModel } from "../src/app/live-model.ts";
import { readConfig } from "../src/app/config.ts";
import { startOrExit, startStepProcess, stopOnSignal } from "../src/app/step-process.ts";
import { agentPacks } from "../src/app/wire.ts";
import { createLogger } from "../src/telemetry/log.ts";

await startOrExit(createLogger("info"), async () => {
  const config = readConfig();
  const { stop } = await startStepProcess({
    url: config.REDIS_URL ?? "redis://127.0.0.1:6379",
    prefix: config.PAWL_PREFIX,
    concurrency: config.PAWL_CONCURRENCY,
    logger: createLogger(config.PAWL_LOG_LEVEL ?? "info"),
    tenants: readTenants(config),
    live: await readLiveModel(config, agentPacks().values()),
    metricsPort: config.PAWL_METRICS_PORT,
  });
  stopOnSignal(stop);
});
