import { invalid } from "../../../lib/errors.ts";
import type { SbatchOption } from "./directives.ts";

type Read = (value: string) => readonly string[];

const as =
  (flag: string): Read =>
  (value) => [flag, value];

/** "90", "5:00", "1:30:00", "2-12" and "2-12:30:00": minutes, unless there are more parts. */
function timeLimit(value: string): string {
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(value);
  if (match === null) throw invalid("#SBATCH --time", `"${value}" is not a time like 1:30:00`);
  const [, days, ...parts] = match;
  const [first = 0, second = 0, third = 0] = parts.filter((part) => part !== undefined).map(Number);
  const isThree = parts[2] !== undefined;
  const [hours, minutes, seconds] =
    days !== undefined || isThree ? [first, second, third] : [0, first, second];
  return `${(((Number(days ?? 0) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000}ms`;
}

/** "now+60" (seconds), "now+1hour"; other times are written as ours. */
function begin(value: string): string {
  if (value === "now") return "0s";
  const [, count, unit = "seconds"] = /^now\+(\d+)([a-z]+)?$/.exec(value) ?? [];
  const [, first = ""] = /^(second|minute|hour|day|week)s?$/.exec(unit) ?? [];
  if (count === undefined || first === "") return value;
  return first === "week" ? `${Number(count) * 7}d` : `${count}${first[0]}`;
}

/** Slurm's sizes are in MiB, unless a letter names another unit. */
function memory(value: string): string {
  const match = /^(\d+)([KMGT]?)B?$/i.exec(value);
  if (match === null) throw invalid("#SBATCH --mem", `"${value}" is not a size like 4G`);
  return `${match[1]}${(match[2] ?? "") === "" ? "M" : (match[2] ?? "").toUpperCase()}iB`;
}

function gpus(value: string): readonly string[] {
  const count = /^(?:gpu:)?(?:[A-Za-z][\w-]*:)?(\d+)$/.exec(value)?.[1];
  if (count === undefined) throw invalid("#SBATCH --gres", `"${value}" is not like gpu:2`);
  return ["--gpu", count];
}

const AFTER: Readonly<Record<string, string>> = {
  after: "--after",
  afterok: "--after-ok",
  afterany: "--after-any",
  afternotok: "--after-not-ok",
};

function dependency(value: string): readonly string[] {
  return value.split(",").flatMap((one) => {
    const [kind = "", ...ids] = one.split(":");
    const flag = AFTER[kind];
    if (flag === undefined || ids.length === 0) {
      throw invalid("#SBATCH --dependency", `"${one}" is not like afterok:17`);
    }
    return [flag, ids.join(",")];
  });
}

/** The supported options, and their meaning; a warning names the others. */
const OPTIONS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...names(["--job-name", "-J"], as("--name")),
  ...names(["--time", "-t"], (value) => ["--time-limit", timeLimit(value)]),
  ...names(["--cpus-per-task", "-c"], as("--cpu")),
  ...names(["--mem"], (value) => ["--memory", memory(value)]),
  ...names(["--array", "-a"], as("--array")),
  ...names(["--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task"], gpus),
  ...names(["--begin", "-b"], (value) => ["--begin", begin(value)]),
  ...names(["--chdir", "-D"], as("--cwd")),
  ...names(["--comment"], as("--comment")),
  ...names(["--nice"], as("--nice")),
  ...names(["--priority"], as("--priority")),
  ...names(["--nodelist", "-w"], as("--node")),
  ...names(["--dependency", "-d"], dependency),
]);

/** Our flags for an option of sbatch; undefined: it is not supported. */
export function readSbatchWord({ name, value }: SbatchOption): readonly string[] | undefined {
  // A job here is one task on one node.
  const isOne = ["--ntasks", "-n", "--nodes", "-N", "--ntasks-per-node"].includes(name);
  if (isOne && value === "1") return [];
  const read = OPTIONS.get(name);
  if (read === undefined) return undefined;
  if (value === undefined) throw invalid(`#SBATCH ${name}`, "has no value");
  return read(value);
}

function names(all: readonly string[], read: Read): [string, Read][] {
  return all.map((name) => [name, read]);
}
