/** `pawl reply RUN TEXT`: the customer's words reach a live run. */
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { EXIT, print, printJson } from "./command.ts";
import { givenWords, tellRefusal, tellRun } from "./operator-move.ts";

export function addReplyCommand(program: Command): void {
  program
    .command("reply <run> <text>")
    .description("tell a run what the customer wrote")
    .option("--json", "one JSON document")
    .action(async (runId: string, words: string, { json = false }: { json?: boolean }) => {
      const text = givenWords("TEXT", words);
      const happening = { kind: "user_reply" as const, id: systemClock.newId(), text };
      const refused = await tellRun(runId, happening);
      process.exitCode = refused === null ? EXIT.done : tellRefusal(refused, json);
      if (refused !== null) return;
      if (json) printJson({ run: runId, posted: happening.kind, id: happening.id });
      else print(`run ${runId} takes the reply in at its next step`);
    });
}
