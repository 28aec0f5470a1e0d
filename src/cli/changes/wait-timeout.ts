import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { duration } from "../flags.ts";

export interface TimeoutFlags {
  readonly timeout?: number;
}

export const TIMEOUT = [
  "--timeout <duration>",
  "stop waiting after this time and exit 124; the jobs continue",
  duration("--timeout"),
] as const;

/** Of commands that wait only with --wait. */
export function addWaitTimeout(command: Command): Command {
  const [flag, text, read] = TIMEOUT;
  return command.option(flag, `with --wait: ${text}`, read);
}

/** Without it the command does not wait, and a user may mean the time limit of the task. */
export function checkTimeout({ wait: waits, timeout }: TimeoutFlags & { wait?: true }): void {
  if (timeout === undefined || waits === true) return;
  throw invalid("--timeout", "needs --wait; --time-limit stops a task that runs too long");
}
