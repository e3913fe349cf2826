/** Serves /metrics of one worker, on loopback, for a scraper on the same machine or pod. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { AgentPack } from "../agents/agent.ts";
import { PawlError } from "../core/errors.ts";
import type { KnownNames, StepMetrics } from "../telemetry/metrics.ts";

export interface MetricsServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

const HOST = "127.0.0.1";

/** Port 0 takes a free one. Throws PAWL_CONFIG_INVALID where the port is taken. */
export async function serveMetrics(metrics: StepMetrics, port: number): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    void metrics.expose().then(
      ({ text, contentType }) => response.writeHead(200, { "content-type": contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `PAWL_METRICS_PORT: cannot listen on ${HOST}:${port}`;
      reject(new PawlError("PAWL_CONFIG_INVALID", message, { path: "PAWL_METRICS_PORT", cause }));
    });
    server.listen(port, HOST, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The names that this process may make labels of. */
export function knownNames(packs: ReadonlyMap<string, AgentPack>): KnownNames {
  const tools = [...packs.values()].flatMap((pack) => [
    ...pack.tools.keys(),
    ...pack.effects.keys(),
    ...pack.terminals.keys(),
  ]);
  return { agents: new Set(packs.keys()), tools: new Set(tools) };
}
