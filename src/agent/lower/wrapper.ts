import { joinShell, quoteShell } from "../../lib/shell.ts";
import type { CommandOutcome } from "../runs/command-outcome.ts";
import { signalName } from "../runs/command-outcome.ts";
import { isKeptByShell, SHELLS } from "../runs/shells.ts";

export interface WrappedWork {
  /** Of the part: for the claim, the exit code, the output. */
  readonly directory: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What the scheduler says of itself inside a job; see LowerScheduler. */
  readonly ownId: string;
  /** Whether it writes stdout and stderr into the directory itself; else the scheduler does. */
  readonly writesOutput: boolean;
}

/** What the scheduler is given: it only finds the wrapper, in a shell that can tell of signals. */
export function jobScript(wrapperPath: string): string {
  const lines = SHELLS.map((shell) => `[ -x ${shell} ] && exec ${shell} ${wrapperPath}`);
  return `${["#!/bin/sh", ...lines].join("\n")}\n`;
}

/**
 * The parent of one command inside a job.
 *
 * - A part is claimed by a link, which fails when there is one already: of two jobs that were submitted
 *   for one part, because nobody could know that the first one was, only one goes on. A job that the
 *   scheduler itself runs again has the same id and goes on. When the part was stopped, or its
 *   directory is gone, none does.
 * - Signals are caught, not ignored: the shell survives a TERM to all of the job and records the real
 *   exit code, and what is caught is reset to default in the command.
 * - The command replaces a subshell by `exec`. Only when that fails does the subshell reach its EXIT
 *   trap: this tells "not found" from a program that itself exits with 127.
 * - When a child dies by a signal the shell says so on its own stderr, here the file of the exit code;
 *   for a child that merely exits with 137 it says nothing.
 * - That file is in place only when it is complete, so that whoever finds it knows the end also when
 *   the scheduler has forgotten the job.
 * - Only positional parameters are used: a variable would be seen by the command.
 */
export function wrapperOf({ directory, argv, env, cwd, ownId, writesOutput }: WrappedWork): string {
  const variables = Object.entries(env);
  const plain = variables.filter(([name]) => !isKeptByShell(name));
  const odd = variables
    .filter(([name]) => isKeptByShell(name))
    .map(([name, value]) => `${name}=${value}`);
  const command = joinShell(odd.length === 0 ? argv : ["env", ...odd, ...argv]);
  return `set -- ${quoteShell(directory)} "${ownId}"
if ! { printf '%s\\n' "$2" >"$1/claim.$2" && ln "$1/claim.$2" "$1/claim"; } 2>/dev/null; then
  [ "$(cat "$1/claim" 2>/dev/null)" = "$2" ] || exit 0
fi
rm -f "$1/exit"
${writesOutput ? 'exec >>"$1/stdout" 2>>"$1/stderr"\n' : ""}printf '%s\\n' "$2" >"$1/exit.new"
exec 8>&2 9>>"$1/exit.new" 2>&9
trap : HUP INT QUIT ALRM TERM USR1 USR2
(
  trap 'printf "unstarted\\n" >>"$1/exit.new"' EXIT
  cd -- ${quoteShell(cwd)} || { printf 'nowhere\\n' >>"$1/exit.new"; exit 1; }
${plain.map(([name, value]) => `  export ${name}=${quoteShell(value)}\n`).join("")}  exec ${command} 8>&- 9>&-
) </dev/null 2>&8
set -- "$1" "$2" "$?"
printf 'exit %s\\nend\\n' "$3" >&9
mv -f "$1/exit.new" "$1/exit"
exit "$3"
`;
}

/** INT and PIPE: of children that die by these a shell says nothing. Programs that exit so mean the same. */
const SILENT = new Set([2, 13]);

/** What a wrapper left in the file `exit`; undefined: not what one leaves. */
export function parseExit(text: string): CommandOutcome | undefined {
  const lines = text.split("\n");
  const [, digits] = /^exit (\d+)$/.exec(lines.at(-3) ?? "") ?? [];
  if (lines.at(-2) !== "end" || digits === undefined) return undefined;
  const exitCode = Number(digits);
  const said = lines.slice(1, -3);
  if (said.includes("nowhere")) return { kind: "not-executed", why: "no-directory" };
  if (said.includes("unstarted")) {
    return { kind: "not-executed", why: exitCode === 127 ? "not-found" : "not-executable" };
  }
  if (exitCode > 128 && (said.length > 0 || SILENT.has(exitCode - 128))) {
    return { kind: "signalled", signal: signalName(exitCode - 128) };
  }
  return { kind: "exited", exitCode };
}
