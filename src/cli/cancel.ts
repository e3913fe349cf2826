/** `pawl cancel RUN --why TEXT`: ends a live run before its next decision. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { EXIT, print, printJson } from "./command.ts";
import { givenWords, tellRefusal, tellRun } from "./operator-move.ts";

interface CancelFlags {
  readonly why: string;
  readonly json?: boolean;
}

export function addCancelCommand(program: Command): void {
  program
    .command("cancel <run>")
    .description("end a run; an effect under way is settled first")
    .requiredOption("--why <text>", "the reason, kept in the run's outcome")
    .option("--json", "one JSON document")
    .action(async (runId: string, { why, json = false }: CancelFlags) => {
      const happening = {
        kind: "cancel" as const,
        id: systemClock.newId(),
        why: givenWords("--why", why),
      };
      const refused = await tellRun(runId, happening);
      process.exitCode = refused === null ? EXIT.done : tellRefusal(refused, json);
      if (refused !== null) return;
      if (json) printJson({ run: runId, posted: happening.kind, id: happening.id });
      else print(`run ${runId} ends as cancelled/by_operator at its next step`);
    });
}
