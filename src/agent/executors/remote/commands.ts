import { createHash } from "node:crypto";
import { join } from "node:path/posix";
import { limits } from "../../../limits.ts";
import type { RunRequest } from "../../../ports/executor.ts";
import { invariant } from "../../../lib/invariant.ts";
import { REFUSALS } from "../../runs/command-outcome.ts";
import { RUN_VARIABLE } from "../../runs/run-variable.ts";
import { isKeptByShell } from "../../runs/shells.ts";
import type { RemoteRunTerms } from "./run-file.ts";
import { formatTerms } from "./run-file.ts";
import { SHUT, STOP } from "./scripts/run-scripts.ts";
import { INSTALL, RUN_START, START, WATCHDOG } from "./scripts/start-script.ts";

/** The directory of runs on a remote machine, and the programs that the worker there starts by itself. */
export interface RemotePlace {
  /** It runs the scripts. */
  readonly shell: string;
  /** By its path, where that is known: the worker may have no PATH. */
  readonly setsid: string;
  readonly directory: string;
}

/** How long the scripts sleep between two looks. */
const NAP_MS = 100;
export const naps = (ms: number): string => String(Math.ceil(ms / NAP_MS));

export const script = (
  { shell }: RemotePlace,
  text: string,
  zero: string,
  ...args: readonly string[]
): readonly string[] => [shell, "-c", text, zero, ...args];

/** The prefix of the names of a run's files. */
export const pathOf = ({ directory }: RemotePlace, key: string): string => join(directory, key);

/** Servers of different versions may use one machine. */
const START_FILE = `start-${createHash("sha256").update(START).digest("hex").slice(0, 8)}`;

/** The beginning of the variable that marks each process of a run; its key and a semicolon follow. */
export const markOf = ({ directory }: RemotePlace): string =>
  `${RUN_VARIABLE}=${createHash("sha256").update(directory).digest("hex").slice(0, 12)}.`;

/** Without it the machine can start nothing; runs that an earlier link sent no longer begin. */
export const installCommand = (place: RemotePlace, link: string) =>
  script(place, INSTALL, place.directory, START_FILE, START, link);

/** Ends the run's session; a run that has not begun never will. */
export const stopCommand = (
  place: RemotePlace,
  key: string,
  terms: RemoteRunTerms,
  graceMs: number,
) => script(place, STOP, pathOf(place, key), naps(graceMs), formatTerms(terms), markOf(place));

/** A run as it is sent. */
export interface SentRun {
  readonly key: string;
  readonly terms: RemoteRunTerms;
  readonly request: RunRequest;
}

/** The arguments that describe a run. Throws an Error whose message is for people. */
export function wordsOf(place: RemotePlace, { key, terms, request }: SentRun): readonly string[] {
  const { pieces, argv } = workOf(request, `${pathOf(place, key)}.script`);
  const { exported, byEnv } = variablesOf(request.env);
  const inner = [...(request.before ?? []), ...argv];
  const command = byEnv.length === 0 ? inner : ["/usr/bin/env", ...byEnv, ...inner];
  const words = [
    key,
    formatTerms(terms),
    ...directoryFor(request, terms),
    String(pieces.length),
    String(exported.length),
    ...pieces,
    ...exported,
    ...command,
  ];
  const counted = [String(words.length + 1), ...words];
  if (bytesOf(counted) > limits.remoteCommandBytesMax) throw new Error(REFUSALS["too-long"](""));
  return counted;
}

/**
 * The command that runs these runs there, one after the other, in their own session, so that no signal to the worker reaches them. Time
 * limit, grace and output limit are equal.
 */
export function startCommand(
  place: RemotePlace,
  { link, number }: { readonly link: string; readonly number: number },
  runs: readonly { readonly sent: SentRun; readonly words: readonly string[] }[],
): readonly string[] {
  const [first] = runs;
  invariant(first !== undefined, "a chain has a run");
  const { timeLimitMs, killGraceMs, outputLimitBytes } = first.sent.request;
  return [
    place.setsid,
    ...script(
      place,
      RUN_START,
      "busbar",
      join(place.directory, START_FILE),
      place.directory,
      link,
      String(number),
      runs.map(({ sent }) => sent.key).join(" "),
      timeLimitMs === undefined ? "" : WATCHDOG,
      String(Math.ceil((timeLimitMs ?? 0) / 10)),
      naps(killGraceMs),
      String(outputLimitBytes),
      markOf(place),
    ),
    ...runs.flatMap(({ words }) => words),
  ];
}

/** Ends with the keys of the chain's runs that have begun; none of the others will. */
export const shutCommand = (
  place: RemotePlace,
  { link, number }: { readonly link: string; readonly number: number },
  keys: readonly string[],
) => script(place, SHUT, place.directory, `shut.${link}.${number}`, ...keys);

/** The working directory, and whether it is the run's own. */
function directoryFor(
  { cwd }: RunRequest,
  { work }: RemoteRunTerms,
): readonly [path: string, isOwn: "0" | "1"] {
  if (work !== undefined) return [`./${work}`, "1"];
  if (cwd?.startsWith("/") === true) return [cwd, "0"];
  throw new Error(`the working directory must be absolute: ${cwd}`);
}

function workOf(
  { work }: RunRequest,
  path: string,
): { readonly pieces: readonly string[]; readonly argv: readonly string[] } {
  switch (work.kind) {
    case "command":
      if (work.argv.length === 0) throw new Error("there is no program to run");
      return { pieces: [], argv: work.argv };
    case "script": {
      return { pieces: [...piecesOf(work.text)], argv: [...interpreterOf(work.text), path] };
    }
    case "jobspec":
      throw new Error("a whole jobspec is for pull clusters");
    case "workload":
      throw new Error("an instance of a workload is for workers that run containers");
  }
}

/**
 * The words of a script's #! line, as the kernel reads it: it refuses to where the directory of runs is mounted without permission to
 * execute files. None: the kernel reads it.
 */
export function interpreterOf(text: string): readonly string[] {
  if (!text.startsWith("#!")) return ["/bin/sh"];
  const line = text.slice(0, INTERPRETER_LENGTH_MAX).split("\n", 1)[0] ?? "";
  if (line.length === INTERPRETER_LENGTH_MAX) return [];
  const [, program, argument = ""] =
    /^#![ \t]*(\/[^ \t]+)(?:[ \t]+([^\n]*?))?[ \t]*$/.exec(line) ?? [];
  if (program === undefined) return [];
  return argument === "" ? [program] : [program, argument];
}

const INTERPRETER_LENGTH_MAX = 1_024;

/** One argument has at most 128 KiB; a character takes up to three bytes. */
function* piecesOf(text: string): Iterable<string> {
  const most = 32 * 1_024;
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + most);
    const last = text.charCodeAt(end - 1);
    const isHalf = end < text.length && last >= 0xd8_00 && last < 0xdc_00;
    if (isHalf) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}

/** Variables that a shell would not pass on reach the command by env(1). */
function variablesOf(env: Readonly<Record<string, string>>) {
  const exported: string[] = [];
  const byEnv: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    (isKeptByShell(name) ? byEnv : exported).push(`${name}=${value}`);
  }
  return { exported, byEnv };
}

/** Rejects here, with a reason, what the remote system or the wire would reject. */
export function bytesOf(words: readonly string[]): number {
  let bytes = 0;
  for (const word of words) {
    if (word.includes("\0")) throw new Error("an argument or a variable contains a NUL byte");
    const size = Buffer.byteLength(word) + 1;
    bytes += size + 8;
    if (size > limits.remoteArgumentBytesMax) throw new Error(REFUSALS["too-long"](""));
  }
  return bytes;
}
