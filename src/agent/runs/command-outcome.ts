import { constants } from "node:os";

import type { RunRequest } from "../../ports/executor.ts";

/** The outcome of a command, as its shell reports it. */
export type CommandOutcome =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string }
  | { readonly kind: "not-executed"; readonly why: Obstacle }
  /** Not executed, because of a fault of the machine. */
  | { readonly kind: "machine-fault"; readonly errno: number; readonly at?: "control group" };

/** Why a command was not executed. */
export type Obstacle = "not-found" | "not-executable" | "too-long" | "no-directory" | "stopped"; // before it began

/** Exhaustive by type: a new obstacle does not compile until it has a message. */
export const REFUSALS: Readonly<Record<Obstacle, (program: string, lookedIn?: string) => string>> =
  {
    "not-found": (program, lookedIn) =>
      `program not found: ${program}${lookedIn === undefined ? "" : `; looked in ${lookedIn}`}${shellHint(program)}`,
    "not-executable": (program) => `program cannot be executed: ${program}`,
    "too-long": () => "the arguments and the environment together are too long for this machine",
    "no-directory": () => "the working directory cannot be entered",
    stopped: () => "it was stopped before it began",
  };

/** "make test", "A=b" and "cd": a word that only a shell understands. */
const OF_A_SHELL =
  /^(?!the )[^/\s]+\s|^\w+=|^(?:cd|source|export|alias|set|eval|exec|ulimit|umask|exit)$/;

const shellHint = (program: string): string =>
  OF_A_SHELL.test(program) ? "; for a line of shell write sh -c '...'" : "";

/** Whether it was executed at all. */
export const hasRun = ({ kind }: CommandOutcome): boolean =>
  kind === "exited" || kind === "signalled";

/** The program of a run, for messages. */
export function programOf({ work }: Pick<RunRequest, "work">): string {
  if (work.kind === "script" && work.text.startsWith("#!")) return interpreterOf(work.text);
  const name = work.kind === "command" ? (work.argv[0] ?? "") : `the ${work.kind}`;
  return name.slice(0, PROGRAM_LENGTH_MAX);
}

/** The kernel takes a carriage return for a part of the interpreter's name, and no terminal shows it. */
function interpreterOf(script: string): string {
  const [line = ""] = script.split("\n", 1);
  const name = line.slice("#!".length).trim().slice(0, PROGRAM_LENGTH_MAX);
  const why = line.endsWith("\r") ? " (the lines of the script end in CR LF; write LF)" : "";
  return `the interpreter of the script, ${name}${why}`;
}

const PROGRAM_LENGTH_MAX = 200;

/**
 * Where a program is looked up, for messages: below the working directory, or on the search path. Undefined: at its own path, or on the
 * tasks' search path.
 */
export function placeOf({ work, cwd, env }: Pick<RunRequest, "work" | "cwd" | "env">) {
  const program = work.kind === "command" ? (work.argv[0] ?? "") : "/";
  if (program === "" || program.startsWith("/")) return undefined;
  if (program.includes("/")) return cwd ?? "a fresh directory (--cwd names another)";
  return env["PATH"] === undefined ? undefined : searchPathText(env["PATH"]);
}

/** The same for a run without its own search path: it uses that of all tasks. */
export const defaultPlaceOf = (program: string, searchPath: string): string | undefined =>
  program === "" || program.includes("/") || program.startsWith("the ")
    ? undefined
    : searchPathText(searchPath);

const searchPathText = (path: string): string => `PATH=${path.slice(0, PLACE_LENGTH_MAX)}`;

const PLACE_LENGTH_MAX = 500;

export function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) {
    if (value === number) return name;
  }
  return `SIG${number}`; // real-time signals have no name in Node
}
