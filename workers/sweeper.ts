/**
 * The sweeper process: gives a job to every run that nothing else will wake. One is enough, two do
 * no harm.
 */
import { systemClock } from "../src/app/clock.ts";
import { readConfig } from "../src/app/config.ts";
import { startOrExit, startSweeping, stopOnSignal } from "../src/app/step-process.ts";
import { connectBackbone } from "../src/app/wire.ts";
import { createLogger } from "../src/telemetry/log.ts";

await startOrExit(createLogger("info"), async () => {
  const config = readConfig();
  const url = config.REDIS_URL ?? "redis://127.0.0.1:6379";
  const backbone = await connectBackbone(url, config.PAWL_PREFIX, systemClock);
  const sweeping = startSweeping(backbone, createLogger(config.PAWL_LOG_LEVEL ?? "info"));
  stopOnSignal(async () => {
    sweeping.stop();
    await backbone.close();
  });
});
