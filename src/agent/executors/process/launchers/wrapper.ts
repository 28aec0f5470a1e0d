import { constants } from "node:os";

import type { Usage } from "../../../../core/model/job/usage.ts";
import { makeUsage } from "../../../../core/model/job/usage.ts";
import type { ProcessIdentity } from "../../../proc.ts";
import type { CommandOutcome, Obstacle } from "../../../runs/command-outcome.ts";
import { signalName } from "../../../runs/command-outcome.ts";
import { isMachineFault } from "../../../runs/machine-fault.ts";
import { parseProcessStat } from "../../../proc.ts";

/**
 * The parent of one command. A constant: the run's directory is its `$0`, the command its `"$@"`, so the shell never parses user input.
 *
 * - `set -C` makes the first redirection an O_EXCL creation: of two wrappers of one run only one
 *   continues. It writes its identity (its line of /proc/self/stat), so that a later agent can tell it
 *   from another process with the same pid. The file is then opened again to append, because the
 *   subshell below writes to it too.
 * - Signals are caught, not ignored: the shell survives a TERM to the group and records the real
 *   exit code, and what is caught is reset to default in the command.
 * - The command replaces a subshell by `exec`, which never takes a builtin for a program. Only when
 *   that fails does the subshell reach its EXIT trap: this tells "not found" from a program that
 *   itself exits with 127.
 * - When a child dies by a signal the shell reports that on its own stderr, here the state file; for a
 *   child that merely exits with 137 it reports nothing. This distinguishes the two exactly.
 *   dash and bash keep silent for INT and PIPE: those read as exits with 130 and 141.
 * - `times` prints the CPU time of the shell and then of its children; it does not measure memory.
 * - The exit code is written before the remaining processes of the group are killed, this
 *   shell included. While the run is being stopped the agent kills them: they get their
 *   grace period too.
 * - When it has the claim and is about to begin the command, it writes to descriptor 3; an agent
 *   that has ended by then must not end it.
 * - The first argument is the control group that the command enters; empty: none. This shell stays
 *   outside, or it would be killed with the command and leave no exit code.
 * - No variable survives into the command, or the job's variable of the same name would be lost.
 */
export const WRAPPER = `
set -C
trap : HUP INT QUIT ALRM TERM USR1 USR2 PIPE
read -r BUSBAR_WRAPPER_STAT </proc/self/stat
exec 9>"$0/state"
exec 9>>"$0/state" 2>&9
printf '%s\\n' "$BUSBAR_WRAPPER_STAT" >&9
unset BUSBAR_WRAPPER_STAT
printf 's' >&3 2>/dev/null
exec 3>&-
(
  trap 'printf "unstarted\\n" >>"$0/state"' EXIT
  [ -z "$1" ] || { echo 0 >>"$1/cgroup.procs"; } 2>/dev/null ||
    { printf "ungrouped\\n" >>"$0/state"; exit 126; }
  shift
  [ -e "$0/stopping" ] || exec "$@" 9>&-
) </dev/null >>"$0/stdout" 2>>"$0/stderr"
printf 'exit %s\\n' "$?" >&9
times >&9
printf 'end\\n' >&9
[ -e "$0/stopping" ] || kill -KILL 0
`;

/** The record of a wrapper, shell or lane, so far. */
export interface WrapperState {
  /** undefined: it claimed the run and has not recorded its identity yet. */
  readonly wrapper: ProcessIdentity | undefined;
  /**
   * The leader of the session of the command and its children: the shell itself, or under a lane the command. undefined: nothing has begun;
   * once a stop is written, nothing will.
   */
  readonly session: ProcessIdentity | undefined;
  /** undefined: the command has not ended, or the wrapper died before it could record that. */
  readonly outcome: CommandOutcome | undefined;
  /** undefined: the command has not ended, or the wrapper could not measure it. */
  readonly usage?: Usage | undefined;
}

export function parseWrapperState(text: string): WrapperState {
  const lines = text.split("\n");
  lines.pop(); // the text after the last newline: empty, or an incomplete line
  const written = lines.filter((line) => line !== ""); // lanes overwrite newlines
  const said = written.filter((line) => !isUsage(line));
  const isLane = said[0]?.startsWith(LANE) === true;
  const wrapper = identityIn(isLane ? said[0]?.slice(LANE.length) : said[0]);
  const leader = said.find((line) => line.startsWith(SESSION))?.slice(SESSION.length);
  const hasEnded = said.at(-1) === "end";
  return {
    wrapper,
    session: isLane ? identityIn(leader) : wrapper,
    outcome: hasEnded ? parseOutcome(said.slice(0, -1), isLane) : unforked(said),
    usage: hasEnded ? usageIn(written.findLast(isUsage) ?? "") : undefined,
  };
}

const USED = "used ";
/** The output of `times` for children in every shell, with two or more digits: "0m0.01s 1m02.340s". */
const TIMES = /^(\d+)m(\d+\.\d+)s (\d+)m(\d+\.\d+)s$/;

const isUsage = (line: string): boolean => line.startsWith(USED) || TIMES.test(line);

function usageIn(line: string): Usage | undefined {
  if (line.startsWith(USED)) return parseUsage(line.slice(USED.length));
  const times = TIMES.exec(line)?.slice(1).map(Number) as
    | [number, number, number, number]
    | undefined;
  if (times === undefined) return undefined;
  const [userMinutes, user, systemMinutes, system] = times;
  const seconds = (userMinutes + systemMinutes) * 60 + user + system;
  return { cpuUs: Math.round(seconds * 1e6) };
}

/** The usage that a lane measured: CPU and wall time in us, memory in KiB, major faults. "-": unknown. */
export function parseUsage(text: string): Usage | undefined {
  if (!/^\d+,\d+,\d+,\d+$/.test(text)) return undefined;
  const [cpuUs, wallUs, maxRssKib, majorFaults] = text.split(",").map(Number);
  return makeUsage(cpuUs, wallUs, maxRssKib, majorFaults);
}

const LANE = "lane ";
const SESSION = "session ";

function identityIn(line: string | undefined): ProcessIdentity | undefined {
  const stat = parseProcessStat(line ?? "");
  return stat && { pid: stat.pid, startTicks: stat.startTicks };
}

/** The messages of dash and bash when they cannot fork: there is no process for the command. */
const unforked = (said: readonly string[]): CommandOutcome | undefined =>
  said.some((line) => /Cannot fork|fork: Resource temporarily unavailable/.test(line))
    ? { kind: "machine-fault", errno: EAGAIN }
    : undefined;

function parseOutcome(lines: readonly string[], isLane: boolean): CommandOutcome | undefined {
  const outcome = parseOutcomeLine(lines.at(-1) ?? "");
  if (isLane || outcome?.kind !== "exited") return outcome;
  const { exitCode } = outcome;
  const said = lines.slice(1, -1);
  if (said.includes("ungrouped")) return { ...OUTSIDE_GROUP, errno: EACCES };
  if (said.includes("unstarted")) {
    return { kind: "not-executed", why: exitCode === 127 ? "not-found" : "not-executable" };
  }
  if (exitCode > 128 && said.length > 0) {
    return { kind: "signalled", signal: signalName(exitCode - 128) };
  }
  return outcome;
}

const OUTSIDE_GROUP = { kind: "machine-fault", at: "control group" } as const;

/** No directory, no process, no control group, or no program. */
const FAILURES = ["nowhere", "unforked", "ungrouped", "unstarted"];

/** A lane's final report on a command: "exit 3", "signal 9", or the failed step with its errno. */
export function parseOutcomeLine(line: string): CommandOutcome | undefined {
  const [, what, digits] = /^(\w+) (\d+)$/.exec(line) ?? [];
  const number = Number(digits);
  if (what === "exit") return { kind: "exited", exitCode: number };
  if (what === "signal") return { kind: "signalled", signal: signalName(number) };
  if (what === undefined || !FAILURES.includes(what)) return undefined;
  if (what === "ungrouped") return { ...OUTSIDE_GROUP, errno: number };
  if (what === "unforked" || isMachineFault(number))
    return { kind: "machine-fault", errno: number };
  if (what === "nowhere") return { kind: "not-executed", why: "no-directory" };
  return { kind: "not-executed", why: OBSTACLES[number] ?? "not-executable" };
}

/** The state file of a run that the agent claimed before any wrapper: it never begins. */
export const TAKEN = "unstarted 0\nend\n";

const { ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, E2BIG, EAGAIN, EACCES } = constants.errno;

/** By errno of execve(2). */
const OBSTACLES: Readonly<Record<number, Obstacle>> = {
  0: "stopped",
  [ENOENT]: "not-found",
  [ENOTDIR]: "not-found",
  [ELOOP]: "not-found",
  [ENAMETOOLONG]: "not-found",
  [E2BIG]: "too-long",
};
