/** The scenarios that an agent pack brings: case files beside it, run as ordinary runs. */
import { readdirSync, readFileSync } from "node:fs";
import type { AgentPack } from "../agents/agent.ts";
import { parseCase, type Case } from "../cases/case.ts";
import { modelsOf, scriptedAgent } from "../cases/case-mind.ts";
import { needsEndpoint } from "../cases/case-provider.ts";
import { createWorld } from "../cases/world.ts";
import { PawlError } from "../core/errors.ts";
import { acceptTicket } from "../ingest/accept-ticket.ts";
import { tenantLimitsOf, type Tenants } from "./config-files.ts";
import { systemClock } from "./clock.ts";
import { worldBooks, type Backbone } from "./wire.ts";

const folderOf = (agent: string): URL => new URL(`../agents/${agent}/scenarios/`, import.meta.url);

export function scenarioNames(agent: string): string[] {
  try {
    return readdirSync(folderOf(agent))
      .filter((file) => file.endsWith(".json"))
      .map((file) => file.slice(0, -".json".length))
      .toSorted();
  } catch {
    return [];
  }
}

/** Throws PAWL_USAGE naming the scenarios there are. */
export function readScenario(agent: string, name: string): Case {
  const names = scenarioNames(agent);
  if (!names.includes(name)) {
    const known = names.length > 0 ? `; there are: ${names.join(", ")}` : "";
    throw new PawlError(
      "PAWL_USAGE",
      `agent ${agent} has no scenario ${name.slice(0, 60)}${known}`,
    );
  }
  return parseCase(readFileSync(new URL(`${name}.json`, folderOf(agent)), "utf8"));
}

/**
 * Puts the scenario's outside into Redis and accepts its ticket; any worker can then step the run.
 */
export async function startScenario(
  backbone: Backbone,
  file: Case,
  packs: ReadonlyMap<string, AgentPack>,
  tenants: Tenants | null = null,
): Promise<string> {
  if (needsEndpoint(file, "scripted")) {
    const message = "/replies: answers of a server are given by `pawl case run` only";
    throw new PawlError("PAWL_CASE_NOT_SUPPORTED", message, { path: "/replies" });
  }
  const books = worldBooks(backbone);
  const runId = systemClock.newId();
  const agent = scriptedAgent(createWorld(file, books), packs);
  await books.put(runId, { text: JSON.stringify(file), answersAgain: false, endpoint: null });
  const deps = { store: backbone.store, now: systemClock.now, newId: () => runId };
  const { ticket, limits } = file;
  const tenantLimits = tenantLimitsOf(tenants, ticket);
  return acceptTicket(deps, { agent, ticket, limits, tenantLimits, models: modelsOf(file) });
}
