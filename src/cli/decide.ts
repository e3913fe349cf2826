/**
 * `pawl approve ID` and `pawl reject ID`: a person's word on one effect. It is stored once, bound
 * to the arguments; the effect itself is carried out by a worker, which checks everything again.
 */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { PawlError } from "../core/errors.ts";
import { parseRunState } from "../core/run-state.ts";
import { type Approval } from "../core/approval.ts";
import { decideApproval, runIdOf, type PersonDecision } from "../step/decide-approval.ts";
import type { Decided, RunStore } from "../store/run-store.ts";
import { EXIT, print, printJson } from "./command.ts";
import { givenWords, runEnded, tellRefusal, type Refusal } from "./operator-move.ts";
import { withBackbone } from "./saved-run.ts";
import { oneLine, timeText } from "./table.ts";

interface ApproveFlags {
  readonly by: string;
  readonly note?: string;
  readonly argsHash?: string;
  readonly json?: boolean;
}

interface RejectFlags {
  readonly by: string;
  readonly why: string;
  readonly json?: boolean;
}

type Said = Omit<PersonDecision, "approvalId">;

export function addDecideCommands(program: Command): void {
  program
    .command("approve <approval>")
    .description("say yes to one effect, once")
    .requiredOption("--by <name>", "who decides")
    .option("--note <text>", "kept beside the decision")
    .option("--args-hash <hash>", "of the arguments that were shown: others are refused")
    .option("--json", "one JSON document")
    .action(async (id: string, { by, note, argsHash, json = false }: ApproveFlags) => {
      const who = givenWords("--by", by);
      const seen = argsHash === undefined ? {} : { argsHash };
      const said = { decision: "approved" as const, by: who, note: note ?? null, ...seen };
      process.exitCode = await decide(id, said, json);
    });
  program
    .command("reject <approval>")
    .description("say no to one effect; its run ends as denied")
    .requiredOption("--by <name>", "who decides")
    .requiredOption("--why <text>", "kept beside the decision")
    .option("--json", "one JSON document")
    .action(async (id: string, { by, why, json = false }: RejectFlags) => {
      const [who, note] = [givenWords("--by", by), givenWords("--why", why)];
      process.exitCode = await decide(id, { decision: "rejected", by: who, note }, json);
    });
}

async function decide(approvalId: string, said: Said, asJson: boolean): Promise<number> {
  const refused = await withBackbone(async ({ store }) => {
    const deps = { store, newId: systemClock.newId };
    const decided = await decideApproval(deps, { approvalId, ...said }).catch(unknownRun);
    return decided === "decided" ? null : refusalOf(store, approvalId, decided);
  });
  if (refused !== null) return tellRefusal(refused, asJson);
  const { decision, by, note } = said;
  const run = runIdOf(approvalId) ?? "";
  const next = said.decision === "approved" ? "checked_again_then_carried_out" : "run_ends_denied";
  if (asJson) printJson({ id: approvalId, run, decision, by, note, next });
  else
    print(`${approvalId} is ${decision} by ${oneLine(by, 60)}; ${NEXT[next]} (pawl show ${run})`);
  return EXIT.done;
}

const NEXT = {
  checked_again_then_carried_out:
    "a worker checks policy and evidence again and then carries it out once",
  run_ends_denied: "its run ends as denied/approval_rejected, and nothing is carried out",
} as const;

/** An id that cannot be a run's was made up: the person is told the same as of any other. */
function unknownRun(error: unknown): Decided {
  if (error instanceof PawlError && error.code === "PAWL_RUN_NOT_FOUND") return "unknown_approval";
  throw error;
}

async function refusalOf(
  store: RunStore,
  approvalId: string,
  decided: Exclude<Decided, "decided">,
): Promise<Refusal> {
  const id = oneLine(approvalId, 80);
  switch (decided) {
    case "run_ended":
      return runEnded(store, runIdOf(approvalId) ?? "");
    case "already_decided": {
      const message = `approval ${id} was decided before${await byWhom(store, approvalId)}`;
      return { code: decided, message };
    }
    case "arguments_changed": {
      const message = `the arguments of ${id} are not those that were seen; nothing was decided`;
      return { code: decided, message };
    }
    case "approval_expired": {
      const approval = await approvalOf(store, approvalId);
      const until = timeText(approval?.expiresAt ?? null);
      return { code: decided, message: `approval ${id} could be decided until ${until}` };
    }
    case "missing":
    case "unknown_approval":
      return { code: "unknown_approval", message: `no run waits for an approval ${id}` };
  }
}

/** A decision that no worker has taken in yet is known to the store alone. */
async function byWhom(store: RunStore, approvalId: string): Promise<string> {
  const approval = await approvalOf(store, approvalId);
  if (approval === null || approval.by === null) return "";
  return ` by ${oneLine(approval.by, 60)} and is ${approval.status}`;
}

async function approvalOf(store: RunStore, approvalId: string): Promise<Approval | null> {
  const run = await store.read(runIdOf(approvalId) ?? "");
  if (run === null) return null;
  const { approvals, pending } = parseRunState(run.json);
  return [...approvals, pending].find((approval) => approval?.id === approvalId) ?? null;
}
