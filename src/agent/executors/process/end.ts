import { existsSync } from "node:fs";
import { constants } from "node:os";

import { unreachable } from "../../../lib/invariant.ts";
import type { RunEnd } from "../../../ports/executor.ts";
import type { ProcessRunTerms, ProcessStop } from "./run.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { defaultPlaceOf, REFUSALS } from "../../runs/command-outcome.ts";
import { describeMachineFault } from "../../runs/machine-fault.ts";

export const RESTARTED = "the machine was restarted";
export const SHELL_DIED = "the shell over the process died and left no exit code";

export interface EndNames {
  readonly program: string;
  /** The search path for it. */
  readonly lookedIn?: string | undefined;
  readonly vanished: string;
  /** This machine's own, not the work's: its directory, its shell. */
  readonly ownDirectory?: string | undefined;
  readonly ownShell?: true | undefined;
}

/**
 * How a run ended, from its wrapper's record (undefined: none) and our own orders. Once a stop is recorded the run counts as stopped,
 * whatever the command did with the signal: a client that stopped it must not see it "fail".
 */
export function endOf(
  outcome: CommandOutcome | undefined,
  stop: ProcessStop | undefined,
  names: EndNames,
): RunEnd {
  if (stop !== undefined) return { kind: stop.cause, signal: signalOf(outcome, stop) };
  if (outcome === undefined) return { kind: "vanished", message: names.vanished };
  switch (outcome.kind) {
    case "exited":
    case "signalled":
      return outcome;
    case "machine-fault":
      if (outcome.at === "control group") {
        return { kind: "node-fault", message: "a process could not enter its control group" };
      }
      return { kind: "node-fault", message: describeMachineFault(outcome.errno) };
    case "not-executed":
      if (outcome.why === "no-directory" && names.ownDirectory !== undefined) {
        return {
          kind: "node-fault",
          message: describeMachineFault(constants.errno.ENOENT, names.ownDirectory),
        };
      }
      if (outcome.why === "not-found" && names.ownShell === true) {
        return { kind: "node-fault", message: "this machine has no /bin/sh" };
      }
      return {
        kind: "could-not-start",
        message: REFUSALS[outcome.why](names.program, names.lookedIn),
      };
    default:
      return unreachable(outcome);
  }
}

function signalOf(outcome: CommandOutcome | undefined, stop: ProcessStop): string | undefined {
  // Without a record of the wrapper: our signal came before the command began, or killed the wrapper too.
  if (outcome === undefined) return stop.sent ?? "SIGTERM";
  return outcome.kind === "signalled" ? outcome.signal : undefined;
}

/** The outcome of an ended run. */
export interface ProcessOutcome {
  readonly terms: Pick<ProcessRunTerms, "program" | "lookedIn" | "ownDirectory" | "ownShell">;
  /** The directory of all runs. */
  readonly directory: string;
  /** Of tasks that set none of their own. */
  readonly searchPath: string;
  readonly outcome: CommandOutcome | undefined;
  readonly vanished: string;
}

export function endOfRun(
  { terms, directory, searchPath, outcome, vanished }: ProcessOutcome,
  stop: ProcessStop | undefined,
): RunEnd {
  const { program, lookedIn = defaultPlaceOf(program, searchPath), ownShell } = terms;
  const ownDirectory = terms.ownDirectory && directory;
  const end = endOf(outcome, stop, { program, lookedIn, vanished, ownDirectory, ownShell });
  // Without the run's directory there is no script to execute, and no output to write to.
  if (end.kind !== "could-not-start" || existsSync(directory)) return end;
  return {
    kind: "node-fault",
    message: describeMachineFault(constants.errno.ENOENT, directory),
  };
}

/** Its wrapper recorded nothing. If its directory was removed, it is unknown whether the run began. */
export function neverBegan(runDirectory: string, how: string): RunEnd {
  return existsSync(runDirectory)
    ? { kind: "node-fault", message: `the wrapper ended before it began: ${how}` }
    : { kind: "vanished", message: "its directory was deleted" };
}
