import { invalid } from "../../../lib/errors.ts";
import type { SbatchOption } from "./directives.ts";

/** Options whose meaning depends on the whole job: its name, and whether it is an array. */
export interface JobOptions {
  /** The patterns of --output and --error. */
  readonly output?: string;
  readonly error?: string;
  /** One job of a name and user at a time. */
  readonly isSingleton?: true;
}

/** The meaning of an option: flags of ours, or more. */
export interface SbatchMeaning {
  readonly words: readonly string[];
  readonly job?: JobOptions;
}

type Read = (value: string) => SbatchMeaning;

const flags = (...words: readonly string[]): SbatchMeaning => ({ words });

const as =
  (flag: string): Read =>
  (value) =>
    flags(flag, value);

const UNLIMITED = /^(?:unlimited|infinite)$/i;

/** "90", "5:00", "1:30:00", "2-12" and "2-12:30:00": minutes, unless there are more parts. 0 is no limit. */
function timeLimit(value: string): SbatchMeaning {
  if (UNLIMITED.test(value)) return flags();
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(value);
  if (match === null) throw invalid("#SBATCH --time", `"${value}" is not a time like 1:30:00`);
  const [, days, ...parts] = match;
  const [first = 0, second = 0, third = 0] = parts.filter((part) => part !== undefined).map(Number);
  const isThree = parts[2] !== undefined;
  const [hours, minutes, seconds] =
    days !== undefined || isThree ? [first, second, third] : [0, first, second];
  const limitMs = (((Number(days ?? 0) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
  return limitMs === 0 ? flags() : flags("--time-limit", `${limitMs}ms`);
}

/** Slurm's sizes are in MiB, unless a letter names another unit. */
function memory(value: string): string {
  const match = /^(\d+)([KMGT]?)B?$/i.exec(value);
  if (match === null) throw invalid("#SBATCH --mem", `"${value}" is not a size like 4G`);
  return `${match[1]}${(match[2] ?? "") === "" ? "M" : (match[2] ?? "").toUpperCase()}iB`;
}

function gpus(value: string): SbatchMeaning {
  const count = /^(?:gpu:)?(?:[A-Za-z][\w-]*:)?(\d+)$/.exec(value)?.[1];
  if (count === undefined) throw invalid("#SBATCH --gres", `"${value}" is not like gpu:2`);
  return flags("--gpu", count);
}

/** In Slurm a lower priority of the job. Our --nice is that of its processes, so it has another range. */
function nice(value: string): SbatchMeaning {
  if (!/^-?\d+$/.test(value))
    throw invalid("#SBATCH --nice", `"${value}" is not a number like 100`);
  return flags("--priority", `${0 - Number(value)}`);
}

const AFTER: Readonly<Record<string, string>> = {
  after: "--after",
  afterok: "--after-ok",
  afterany: "--after-any",
  afternotok: "--after-not-ok",
};

/** "afterok:17:18_3,singleton". A job must not start too early: other kinds are errors, not warnings. */
function dependency(value: string): SbatchMeaning {
  const kinds = value.split(",");
  const words = kinds.flatMap((one) => {
    if (one === "singleton") return [];
    const [kind = "", ...ids] = one.split(":");
    const flag = AFTER[kind];
    if (flag === undefined || !ids.every((id) => /^\d+(?:_\d+)?$/.test(id)) || ids.length === 0) {
      throw invalid("#SBATCH --dependency", `"${one}" is not like afterok:17 or singleton`);
    }
    return [flag, ids.map((id) => id.replace("_", ".")).join(",")];
  });
  return { words, ...(kinds.includes("singleton") && { job: { isSingleton: true } }) };
}

/** The supported options, and their meaning; a warning names the others. */
const OPTIONS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...names(["--job-name", "-J"], as("--name")),
  ...names(["--time", "-t"], timeLimit),
  ...names(["--cpus-per-task", "-c"], as("--cpu")),
  ...names(["--mem"], (value) => flags("--memory", memory(value))),
  ...names(["--array", "-a"], as("--array")),
  ...names(["--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task"], gpus),
  ...names(["--begin", "-b"], as("--begin")),
  ...names(["--chdir", "-D"], as("--cwd")),
  ...names(["--comment"], as("--comment")),
  ...names(["--nice"], nice),
  ...names(["--priority"], as("--priority")),
  ...names(["--nodelist", "-w"], as("--node")),
  ...names(["--dependency", "-d"], dependency),
  ...names(["--output", "-o"], (output) => ({ words: [], job: { output } })),
  ...names(["--error", "-e"], (error) => ({ words: [], job: { error } })),
]);

/** Options without a value. */
const SWITCHES: ReadonlyMap<string, SbatchMeaning> = new Map([
  ["--hold", flags("--hold")],
  ["-H", flags("--hold")],
]);

/** What an option means without its value, where sbatch takes it with and without. */
const DEFAULTS: ReadonlyMap<string, string> = new Map([["--nice", "100"]]);

/** Undefined: it is not supported. */
export function readSbatchWord(option: SbatchOption): SbatchMeaning | undefined {
  const { name, value = DEFAULTS.get(name) } = option;
  // A job here is one task on one node.
  const isOne = ["--ntasks", "-n", "--nodes", "-N", "--ntasks-per-node"].includes(name);
  if (isOne && value === "1") return flags();
  const meaning = SWITCHES.get(name);
  if (meaning !== undefined && value === undefined) return meaning;
  if (meaning !== undefined) throw invalid(`#SBATCH ${name}`, "takes no value");
  const read = OPTIONS.get(name);
  if (read === undefined) return undefined;
  if (value === undefined || value === "") throw invalid(`#SBATCH ${name}`, "has no value");
  return read(value);
}

function names(all: readonly string[], read: Read): [string, Read][] {
  return all.map((name) => [name, read]);
}
