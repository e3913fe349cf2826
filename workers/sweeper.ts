/**
 * The sweeper process: gives a job to every run that nothing else will wake. One is enough, two do
 * no harm.
 */
import { systemClock } from "../src/app/clock.ts";
import { readConfig } from "../src/app/config.ts";
import { startSweeping, stopOnSignal } from "../src/app/step-process.ts";
import { connectBackbone } from "../src/app/wire.ts";
import { createLogger } from "../src/telemetry/log.ts";

const config = readConfig();
const logger = createLogger(config.PAWL_LOG_LEVEL ?? "info");
const url = config.REDIS_URL ?? "redis://127.0.0.1:6379";
const backbone = await connectBackbone(url, config.PAWL_PREFIX, systemClock);
const sweeping = startSweeping(backbone, logger);
stopOnSignal(async () => {
  sweeping.stop();
  await backbone.close();
});
