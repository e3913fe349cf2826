/** One step worker process: start as many as the load needs; each may die at any time. */
import { readConfig } from "../src/app/config.ts";
import { startStepProcess, stopOnSignal } from "../src/app/step-process.ts";
import { createLogger } from "../src/telemetry/log.ts";

const config = readConfig();
const logger = createLogger(config.PAWL_LOG_LEVEL ?? "info");
const service = await startStepProcess({
  url: config.REDIS_URL ?? "redis://127.0.0.1:6379",
  prefix: config.PAWL_PREFIX,
  concurrency: config.PAWL_CONCURRENCY,
  logger,
});
stopOnSignal(service.stop);
