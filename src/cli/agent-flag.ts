/** The `--agent` of commands that need a pack. */
import type { AgentPack } from "../agents/agent.ts";
import { PawlError } from "../core/errors.ts";

/** Throws PAWL_AGENT_UNKNOWN naming the agents there are. */
export function packNamed(packs: ReadonlyMap<string, AgentPack>, name: string): AgentPack {
  const pack = packs.get(name);
  if (pack !== undefined) return pack;
  const known = [...packs.keys()].join(", ");
  const message = `there is no agent ${name.slice(0, 60)}; there are: ${known}`;
  throw new PawlError("PAWL_AGENT_UNKNOWN", message, { path: "--agent" });
}
