import { joinShell, quoteShell } from "../../../lib/shell.ts";
import { limits } from "../../../limits.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { signalName } from "../../runs/command-outcome.ts";
import { RUN_VARIABLE } from "../../runs/run-variable.ts";
import { isKeptByShell, SHELLS } from "../../runs/shells.ts";

export interface WrappedWork {
  /** Of the part: for the claim, the exit code, the output. */
  readonly directory: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The mark in the environment of each of its processes; it is no prefix of another part's. */
  readonly mark: string;
  /** The expression for the job's own id inside the job; see LowerScheduler. */
  readonly ownId: string;
  /** Whether it writes stdout and stderr into the directory itself; else the scheduler does. */
  readonly writesOutput: boolean;
}

/** The script for the scheduler: it only runs the wrapper, in a shell that can report signals. */
export function jobScript(wrapperPath: string): string {
  const lines = SHELLS.map((shell) => `[ -x ${shell} ] && exec ${shell} ${wrapperPath}`);
  return `${["#!/bin/sh", ...lines].join("\n")}\n`;
}

/**
 * The parent of one command inside a job.
 *
 * - The wrapper claims its part by a link, which fails when there is one already. The agent may submit two
 *   jobs for one part when it cannot know about the first: only one of them continues. A job that the
 *   scheduler itself runs again has the same id and continues. When the part was stopped, or its
 *   directory was removed, none does.
 * - Signals are caught, not ignored: the shell survives a TERM to all of the job and records the real
 *   exit code, and what is caught is reset to default in the command.
 * - The command replaces a subshell by `exec`. Only when that fails does the subshell reach its EXIT
 *   trap: this distinguishes "not found" from a program that itself exits with 127.
 * - When a child dies by a signal the shell reports that on its own stderr, here the file of the exit code;
 *   for a child that merely exits with 137 it reports nothing.
 * - That file is in place only when it is complete, so that a reader knows the end also when the
 *   scheduler has no record of the job.
 * - The wrapper uses only positional parameters: the command would see a variable.
 * - A keeper beside it does what a shell cannot do while it waits for the command; see `keeper`.
 */
export function wrapperOf(work: WrappedWork): string {
  const { directory, argv, cwd, ownId, mark, writesOutput } = work;
  const variables = Object.entries({ ...work.env, [RUN_VARIABLE]: mark });
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
${sweep(mark)}
trap '' ${SIGNALS}
(
${keeper}) </dev/null >/dev/null 2>&1 8>&- 9>&- &
trap : ${SIGNALS} USR1
set -- "$1" "$2" "$!"
(
  trap 'printf "unstarted\\n" >>"$1/exit.new"' EXIT
  cd -- ${quoteShell(cwd)} || { printf 'nowhere\\n' >>"$1/exit.new"; exit 1; }
${plain.map(([name, value]) => `  export ${name}=${quoteShell(value)}\n`).join("")}  exec ${command} 8>&- 9>&-
) </dev/null 2>&8
set -- "$1" "$2" "$3" "$?"
exec 2>/dev/null
(
  read -r order rest <"$1/control"
  [ "$order" = go ] || sweep
)
kill -USR1 "$3"
printf 'exit %s\\nend\\n' "$4" >&9
mv -f "$1/exit.new" "$1/exit"
exit "$4"
`;
}

/** Signals that may reach all processes of a job; USR1 ends the keeper. */
const SIGNALS = "HUP INT QUIT ALRM TERM USR2";

/**
 * `marked` lists the processes of the part on this machine by the mark in their environment, which they keep in any session and under any
 * parent. `sweep` kills these, and any other pids passed to it. Variables end with a zero byte, where busybox's grep would stop reading
 * without -z.
 */
const sweep = (mark: string): string => `marked() {
  grep -lzF ${quoteShell(`${RUN_VARIABLE}=${mark}`)} /proc/[0-9]*/environ 2>/dev/null |
    sed 's,^/proc/,,;s,/.*,,'
}
sweep() {
  for again in 1 2 3 4 5 6 7 8 9; do
    set -- "$@" $(marked)
    [ $# -gt 0 ] || return 0
    kill -KILL "$@"
    [ "$again" -lt 3 ] || sleep 1
    set --
  done
}`;

/** From an order to stop to the scheduler's TERM. */
const TERM_WITHIN_S = 2;

/**
 * Runs beside the command until that has ended.
 *
 * - `runner` names the process and machine that has the part; the keeper writes `alive` every few seconds.
 *   So an agent whose scheduler has no record of the job knows whether it still runs, here or elsewhere.
 * - `control` holds an order of the agent: "stop N end" kills every process of the part N seconds after
 *   TERM. Schedulers that signal all of a job wake the keeper with that TERM. When none comes, because the
 *   scheduler has no record of the job or does not signal all of it, the keeper sends it. The keeper opens
 *   an existing file again each time, which shared file systems do not answer from a cache.
 * - The keeper kills the command and its descendants also when they have dropped their environment, as
 *   long as they still descend from the wrapper.
 * - When the wrapper has died, nothing records the end: the keeper kills what is left of the command.
 */
const keeper = `  trap 'kill -KILL "$nap"; exit 0' USR1
  trap : ${SIGNALS}
  directory=$1
  asked=
  nap=
  trap asked=yes TERM
  read -r own rest </proc/self/stat
  read -r boot </proc/sys/kernel/random/boot_id
  read -r host </proc/sys/kernel/hostname
  read -r stat </proc/$$/stat
  set -- \${stat##*") "}
  shift 19
  printf '%s\\n' "$host" "$boot" "$(readlink /proc/$$/ns/pid)" $$ "$1" end >"$directory/runner"
  descendants() {
    for child in $(cat "/proc/$1/task/$1/children"); do
      [ "$child" = "$own" ] || printf '%s\\n' "$child" $(descendants "$child")
    done
  }
  rest() {
    sleep "$1" &
    nap=$!
    wait "$nap"
    kill -KILL "$nap"
  }
  while kill -0 $$; do
    printf . >"$directory/alive"
    read -r order seconds end <"$directory/control"
    if [ "$order-$end" = stop-end ]; then
      [ -n "$asked" ] || rest ${TERM_WITHIN_S}
      trap '' ${SIGNALS}
      [ -n "$asked" ] || kill -TERM $(descendants $$) $(marked)
      rest "$seconds"
      sweep $(descendants $$)
      exit 0
    fi
    asked=
    rest ${limits.lowerAliveMs / 1_000}
  done
  sweep
`;

/** INT and PIPE: a shell reports nothing for children that die by these. Programs that exit with these codes mean the same. */
const SILENT = new Set([2, 13]);

/** Parses the file `exit` of a wrapper; undefined: no wrapper writes this. */
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
