import { createHash } from "node:crypto";
import { visible } from "../../../core/model/texts.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import { parseProcessStat } from "../../proc.ts";
import type { RemotePlace } from "./commands.ts";
import { linesOf } from "./run-file.ts";
import { PROBE } from "./scripts/probe-script.ts";

/** A remote machine, as its probe describes it. */
export interface ProbedMachine {
  readonly hostname: string;
  /** Equal for every program on the machine, across restarts of both. */
  readonly identity: string;
  readonly bootId: string;
  /** The process of the worker: pid and start time, with the boot. */
  readonly process: string;
  /** Its likeness, the same after a restart: user, working directory, command line. */
  readonly likeness: string;
  /** The nodes that processes there have been the worker of, as noted on its disk. */
  readonly named: readonly NamedWorker[];
  /** "Linux 6.1.0 x86_64" */
  readonly system: string;
  /** In units for people: cpus, bytes. */
  readonly amounts: { readonly cpu: number; readonly memory: number };
  readonly place: RemotePlace;
}

/** The process that was last the worker of the node with this name. */
export interface NamedWorker {
  readonly name: string;
  readonly process: string;
  readonly likeness: string;
}

/**
 * Probes the machine. `installation` keeps the runs of different servers apart. Throws `unavailable`
 * when it does not answer, and `conflict` when it lacks a program that runs need.
 */
export async function probeMachine(
  shell: RemoteShell,
  installation: string,
): Promise<ProbedMachine> {
  const options = { timeoutMs: limits.remoteCommandMsMax };
  const { stdout } = await shell.exec(["/bin/sh", "-c", PROBE, installation], options);
  return parseProbe(stdout);
}

export function parseProbe(text: string): ProbedMachine {
  const lines = linesOf(text);
  if (lines.at(-1) !== "all") {
    throw new AppError("conflict", "its machine could not run /bin/sh, which tasks need");
  }
  const told = new Map<string, string>();
  const missing: string[] = [];
  const named: NamedWorker[] = [];
  let command = "";
  for (const line of lines) {
    const [, word = "", value = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (word === "missing") missing.push(value);
    else if (word === "command") command += `${value}\n`;
    else if (word === "named") named.push(...parseNamed(value));
    else if (!told.has(word)) told.set(word, value);
  }
  if (missing.length > 0) {
    const what = missing.join(", ");
    throw new AppError("conflict", `its machine lacks programs that tasks need: ${what}`);
  }
  const directory = told.get("directory");
  if (directory === undefined) {
    const what =
      "its machine has no writable directory for runs: make /var/tmp, /tmp or /dev/shm writable";
    throw new AppError("conflict", what);
  }
  const hostname = visible(told.get("host") ?? "", limits.nameLengthMax);
  return {
    hostname,
    identity: sha256(`${told.get("machine") ?? ""}\n${hostname}`),
    bootId: told.get("boot") ?? "",
    process: processOf(told),
    likeness: sha256([told.get("user"), told.get("in"), command].join("\n")).slice(0, 16),
    named: named.slice(0, limits.remoteNamesPerHostMax),
    system: visible(told.get("system") ?? "", limits.nameLengthMax),
    amounts: { cpu: cpusOf(told), memory: memoryOf(told) },
    place: {
      shell: told.get("shell") ?? "/bin/sh",
      setsid: told.get("setsid") ?? "setsid",
      directory,
    },
  };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The worker of a node, on one line. */
export const formatWorker = ({ likeness, process }: ProbedMachine): string =>
  `${likeness} ${process}`;

function parseNamed(text: string): readonly NamedWorker[] {
  const [, name = "", likeness = "", process = ""] = /^(\S+) (\S+) (.+)$/.exec(text) ?? [];
  return process === "" ? [] : [{ name, likeness, process }];
}

function processOf(told: ReadonlyMap<string, string>): string {
  const stat = parseProcessStat(told.get("parent") ?? "");
  return `${told.get("boot")} ${stat?.pid} ${stat?.startTicks}`;
}

/** Control groups may reduce the CPUs: "150000 100000" is one and a half. */
function cpusOf(told: ReadonlyMap<string, string>): number {
  const cpus = Math.max(1, Math.floor(Number(told.get("cpus")) || 1));
  const [quota, period] = (told.get("cpu-max") ?? "").split(" ").map(Number);
  if (quota === undefined || period === undefined || !(quota > 0) || !(period > 0)) return cpus;
  return Math.min(cpus, Math.max(0.001, Math.round((quota / period) * 1_000) / 1_000));
}

function memoryOf(told: ReadonlyMap<string, string>): number {
  const total = (Number(told.get("memory-kib")) || 0) * 1_024;
  const most = Number(told.get("memory-max"));
  return most > 0 && most < total ? Math.floor(most) : total;
}
