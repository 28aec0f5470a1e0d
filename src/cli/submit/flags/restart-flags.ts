import { type Command, Option } from "commander";
import { RESTARTS } from "../../../core/model/service/service-terms.ts";
import { invalid } from "../../../lib/errors.ts";
import { duration, oneOf } from "../../flags.ts";

export interface RestartFlags {
  readonly restart?: (typeof RESTARTS)[number];
  readonly restartBackoff?: number;
}

export function addRestartFlags(command: Command): void {
  command
    .addOption(
      new Option("--restart <when>", "run as a service: start the task again when it ends")
        .choices([...RESTARTS])
        .argParser(oneOf("--restart", RESTARTS)),
    )
    .option(
      "--restart-backoff <duration>",
      "wait before the first restart; doubles each time (default: 1s)",
      duration("--restart-backoff"),
    );
}

/** Undefined: it ends. */
export function restartOf({ restart, restartBackoff }: RestartFlags) {
  if (restart === undefined) {
    if (restartBackoff !== undefined) throw invalid("--restart-backoff", "needs --restart");
    return undefined;
  }
  const backoffMs = restartBackoff === undefined ? undefined : BigInt(restartBackoff);
  return { restart, backoffMs };
}
