import { quoteShell } from "../../../lib/shell.ts";
import { limits } from "../../../limits.ts";
import type { Jobspec } from "../model.ts";
import { toSteps, type WorkloadStep } from "./to-steps.ts";

/**
 * A script for a POSIX shell that runs a whole jobspec on this machine: independent tasks in
 * parallel, up to a limit of processes; a task after its dependencies have succeeded; no task whose
 * dependency failed. It exits with 0, or with the code of the first task that failed.
 *
 * When there are several processes, each writes to files that the script shows when the process has
 * ended, after a line "== name". On TERM the script starts no more processes and ends when the
 * running ones have ended: to stop all, send TERM to its whole session. Names that begin with
 * busbar_ are its own; none of them reaches the environment of a task.
 */
export function toDriverScript(jobspec: Jobspec): string {
  const steps = toSteps(jobspec);
  const [only, ...others] = steps;
  const isSingle = others.length === 0 && (only === undefined || processesOf(only) === 1);
  const lines = isSingle
    ? [...steps.map(functionsOf), PREPARE, RUN_ONE]
    : [...steps.map(functionsOf), PREPARE, SCHEDULE, ...stepLines(steps), RUN_ALL];
  return `#!/bin/sh\n${lines.join("\n")}\n`;
}

/** Of all copies. */
const processesOf = ({ copies, shape }: WorkloadStep): number => copies * shape.processes;

/**
 * busbar_write_N writes the script of step N to a file, busbar_step_N replaces itself by the
 * process of an index.
 */
function functionsOf(step: WorkloadStep, number: number): string {
  const { script, env, cwd, timeLimitMs } = step;
  // Each process knows its index, as in an array of Busbar.
  const index = processesOf(step) > 1 ? ['BUSBAR_ARRAY_INDEX="$1"'] : [];
  const variables = Object.entries(env).map(([name, value]) => quoteShell(`${name}=${value}`));
  const words = [
    ...(variables.length + index.length > 0 ? ["env", ...variables, ...index] : []),
    ...(timeLimitMs === undefined ? [] : [`timeout -k ${GRACE_SECONDS} ${timeLimitMs / 1_000}`]),
    `"$busbar_directory/${number}"`,
  ];
  const file = `"$busbar_directory/${number}"`;
  return `busbar_write_${number}() { printf %s ${quoteShell(script)} >${file} && chmod +x ${file}; }
busbar_step_${number}() { ${cwd === undefined ? "" : `CDPATH= cd -- ${quoteShell(cwd)} && `}exec ${words.join(" ")}; }`;
}

const GRACE_SECONDS = limits.killGraceMsDefault / 1_000;

/**
 * Each step has its name, the number of its dependencies, the number of its processes, and its
 * dependents.
 */
function stepLines(steps: readonly WorkloadStep[]): readonly string[] {
  const numbers = new Map(steps.map(({ name }, number) => [name, number]));
  const waiting = steps.map((): number[] => []);
  for (const [number, { after }] of steps.entries()) {
    for (const name of after) waiting[numbers.get(name) ?? 0]?.push(number);
  }
  return steps.map((step, number) => {
    const name = quoteShell(step.name.replaceAll(/\s+/g, " "));
    const then = quoteShell(waiting[number]?.join(" ") ?? "");
    return `busbar_add ${number} ${name} ${step.after.length} ${processesOf(step)} ${then}`;
  });
}

/** Beside the script itself files can be executed, and are removed with it if all else fails. */
const PREPARE = `busbar_directory=$(mktemp -d "\${0%/*}/tasks.XXXXXX" 2>/dev/null || mktemp -d) || exit
busbar_directory=$(CDPATH= cd -- "$busbar_directory" && pwd) || exit
trap 'rm -rf -- "$busbar_directory"' EXIT
busbar_signals=0 busbar_stop=
trap 'busbar_signals=$((busbar_signals + 1)) busbar_stop=129' HUP
trap 'busbar_signals=$((busbar_signals + 1)) busbar_stop=130' INT
trap 'busbar_signals=$((busbar_signals + 1)) busbar_stop=143' TERM`;

const RUN_ONE = `busbar_write_0
(busbar_step_0 0)
exit`;

/**
 * - Steps that can start are in a queue; busbar_head is its first. A step leaves it when the last of
 *   its processes was started.
 * - Processes that have ended report it in a FIFO, in lines too short to be interleaved. The shell
 *   itself holds it open for writing only while it starts processes: it reads an end of file instead
 *   of waiting forever if the waiting subshell was killed.
 * - Each output ends with a newline when it is shown, whether it had one or not (sed).
 * - The subshell that waits for a process survives a TERM, to report its real exit code. The message
 *   of a shell about the signal that ended a process is not output of the process.
 */
const SCHEDULE = `mkfifo "$busbar_directory/ended" || exit
exec 8<>"$busbar_directory/ended" 9<"$busbar_directory/ended" 8>&-
busbar_code=0 busbar_running=0 busbar_head=0 busbar_tail=0
busbar_queue() {
  eval "busbar_queue_$busbar_tail=$1"
  busbar_tail=$((busbar_tail + 1))
}
busbar_add() {
  eval "busbar_name_$1=\\$2 busbar_waits_$1=$3 busbar_count_$1=$4 busbar_left_$1=$4"
  eval "busbar_then_$1=\\$5 busbar_next_$1=0 busbar_failed_$1= busbar_skipped_$1="
  [ "$3" -gt 0 ] || busbar_queue "$1"
}
busbar_settle() {
  eval "busbar_then=\\$busbar_then_$1 busbar_failed=\\$busbar_failed_$1"
  for busbar_each in $busbar_then; do
    eval "busbar_waits=\\$((busbar_waits_$busbar_each - 1))"
    eval "busbar_waits_$busbar_each=$busbar_waits"
    [ -z "$busbar_failed" ] || eval "busbar_skipped_$busbar_each=\\$busbar_name_$1"
    [ "$busbar_waits" -gt 0 ] || busbar_queue "$busbar_each"
  done
}
busbar_start() {
  (
    trap : HUP INT TERM
    (
      exec 8>&- 9<&-
      "busbar_step_$1" "$2"
    ) </dev/null >"$busbar_directory/$1.$2.out" 2>"$busbar_directory/$1.$2.err"
    echo "$1 $2 $?" >&8
  ) 2>/dev/null &
  busbar_running=$((busbar_running + 1))
}
busbar_next() {
  eval "busbar_number=\\$busbar_queue_$busbar_head"
  eval "busbar_index=\\$busbar_next_$busbar_number busbar_count=\\$busbar_count_$busbar_number"
  eval "busbar_name=\\$busbar_name_$busbar_number busbar_skipped=\\$busbar_skipped_$busbar_number"
  if [ -n "$busbar_skipped" ]; then
    printf '%s is skipped: %s has not succeeded\\n' "$busbar_name" "$busbar_skipped" >&2
    busbar_head=$((busbar_head + 1))
    eval "busbar_failed_$busbar_number=1"
    busbar_settle "$busbar_number"
    return
  fi
  [ "$busbar_index" -gt 0 ] || "busbar_write_$busbar_number"
  busbar_start "$busbar_number" "$busbar_index"
  busbar_index=$((busbar_index + 1))
  eval "busbar_next_$busbar_number=$busbar_index"
  [ "$busbar_index" -lt "$busbar_count" ] || busbar_head=$((busbar_head + 1))
}
busbar_end() {
  busbar_output=$busbar_directory/$1.$2
  eval "busbar_name=\\$busbar_name_$1 busbar_count=\\$busbar_count_$1"
  [ "$busbar_count" -eq 1 ] || busbar_name="$busbar_name[$2]"
  printf '== %s\\n' "$busbar_name"
  [ ! -s "$busbar_output.out" ] || sed '$a\\' "$busbar_output.out"
  [ ! -s "$busbar_output.err" ] || sed '$a\\' "$busbar_output.err" >&2
  if [ "$3" -ne 0 ]; then
    eval "busbar_failed_$1=1"
    [ "$busbar_code" -ne 0 ] || busbar_code=$3
  fi
  busbar_running=$((busbar_running - 1))
  eval "busbar_left=\\$((busbar_left_$1 - 1))"
  eval "busbar_left_$1=$busbar_left"
  if [ "$busbar_left" -gt 0 ]; then
    rm -f -- "$busbar_output.out" "$busbar_output.err"
    return
  fi
  rm -f -- "$busbar_output.out" "$busbar_output.err" "$busbar_directory/$1"
  busbar_settle "$1"
}`;

const RUN_ALL = `while :; do
  exec 8>"$busbar_directory/ended"
  while [ "$busbar_running" -lt ${limits.jobspecProcessesAtOnceMax} ] && [ "$busbar_head" -lt "$busbar_tail" ] && [ "$busbar_signals" -eq 0 ]; do
    busbar_next
  done
  exec 8>&-
  [ "$busbar_running" -gt 0 ] || break
  busbar_seen=$busbar_signals
  if read -r busbar_number busbar_index busbar_status <&9; then
    busbar_end "$busbar_number" "$busbar_index" "$busbar_status"
  elif [ "$busbar_signals" -eq "$busbar_seen" ]; then
    echo "$busbar_running processes were killed" >&2
    exit 137
  fi
done
exit "\${busbar_stop:-$busbar_code}"`;
