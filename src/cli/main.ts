#!/usr/bin/env node
/**
 * The command line. One file a command; this one only gathers them and turns failures into exits.
 */
import { Command, CommanderError } from "commander";
import { PawlError } from "../core/errors.ts";
import { addApprovalsCommand } from "./approvals.ts";
import { addCancelCommand } from "./cancel.ts";
import { addCaseCommands } from "./case.ts";
import { EXIT, tellFailure } from "./command.ts";
import { addDecideCommands } from "./decide.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addForkCommand } from "./fork.ts";
import { addEstimateCommand } from "./estimate.ts";
import { addListCommand } from "./list.ts";
import { addModelCommand } from "./model.ts";
import { addReplayCommand } from "./replay.ts";
import { addReplyCommand } from "./reply.ts";
import { addRunCommand } from "./run.ts";
import { addShowCommand } from "./show.ts";
import { addSweepCommand } from "./sweep.ts";
import { addTraceCommand } from "./trace.ts";
import { addWorkerCommand } from "./worker.ts";

const program = new Command("pawl")
  .description(
    "LLM agents over support tickets: one step, one job, and a killed worker loses nothing",
  )
  .exitOverride()
  .configureOutput({ writeErr: () => undefined });
addRunCommand(program);
addWorkerCommand(program);
addCaseCommands(program);
addEstimateCommand(program);
addListCommand(program);
addModelCommand(program);
addShowCommand(program);
addReplayCommand(program);
addTraceCommand(program);
addApprovalsCommand(program);
addDecideCommands(program);
addReplyCommand(program);
addCancelCommand(program);
addForkCommand(program);
addSweepCommand(program);
addDoctorCommand(program);

// `pawl show RUN | head`: the reader has seen enough, which is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed);
});

const asJson = process.argv.includes("--json");
try {
  await program.parseAsync();
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0;
  const shown =
    error instanceof CommanderError
      ? new PawlError("PAWL_USAGE", error.message.replace(/^error: /, ""))
      : error;
  process.exitCode = isHelp ? EXIT.done : tellFailure(shown, asJson);
}
