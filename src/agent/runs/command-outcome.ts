import { constants } from "node:os";

import type { RunRequest } from "../../ports/executor.ts";

/** What became of a command, as the shell over it tells. */
export type CommandOutcome =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string }
  | { readonly kind: "not-executed"; readonly why: Obstacle }
  /** Not executed either, for reasons of the machine. */
  | { readonly kind: "machine-fault"; readonly errno: number; readonly at?: "control group" };

/** Why a command was not executed. */
export type Obstacle = "not-found" | "not-executable" | "too-long" | "no-directory" | "stopped"; // before it began

/** Total by type: a new obstacle does not compile until there are words for it. */
export const REFUSALS: Readonly<Record<Obstacle, (program: string) => string>> = {
  "not-found": (program) => `program not found: ${program}`,
  "not-executable": (program) => `program cannot be executed: ${program}`,
  "too-long": () => "the arguments and the environment together are too long for this machine",
  "no-directory": () => "the working directory cannot be entered",
  stopped: () => "it was stopped before it began",
};

/** Whether it was executed at all. */
export const hasRun = ({ kind }: CommandOutcome): boolean =>
  kind === "exited" || kind === "signalled";

/** What is run, for messages. */
export function programOf({ work }: Pick<RunRequest, "work">): string {
  const name = work.kind === "command" ? (work.argv[0] ?? "") : `the ${work.kind}`;
  return name.slice(0, PROGRAM_LENGTH_MAX);
}

const PROGRAM_LENGTH_MAX = 200;

export function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) {
    if (value === number) return name;
  }
  return `SIG${number}`; // real-time signals have no name in Node
}
