import { createHash } from "node:crypto";
import { join } from "node:path/posix";
import { limits } from "../../../limits.ts";
import type { RunRequest } from "../../../ports/executor.ts";
import { REFUSALS } from "../../runs/command-outcome.ts";
import { isKeptByShell } from "../../runs/shells.ts";
import type { RemoteRunTerms } from "./run-file.ts";
import { formatTerms } from "./run-file.ts";
import { INSTALL, RUN_START, START, STOP, WATCHDOG } from "./scripts.ts";

/** Where runs are kept on a far machine, and what runs scripts there. */
export interface RemotePlace {
  readonly shell: string;
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

/** What the names of a run's files begin with. */
export const pathOf = ({ directory }: RemotePlace, key: string): string => join(directory, key);

/** Servers of different versions may use one machine. */
const START_FILE = `start-${createHash("sha256").update(START).digest("hex").slice(0, 8)}`;

/** Without it nothing can be started there. */
export const installCommand = (place: RemotePlace) =>
  script(place, INSTALL, place.directory, START_FILE, START);

/** Ends the run's session; one that has not begun never will. */
export const stopCommand = (
  place: RemotePlace,
  key: string,
  terms: RemoteRunTerms,
  graceMs: number,
) => script(place, STOP, pathOf(place, key), naps(graceMs), formatTerms(terms));

/**
 * What starts a run there: in a session of its own, so that nothing that is meant for the program
 * that we speak to reaches it. Throws an Error whose message is for people.
 */
export function startCommand(
  place: RemotePlace,
  key: string,
  terms: RemoteRunTerms,
  request: RunRequest,
): readonly string[] {
  const { timeLimitMs, killGraceMs, outputLimitBytes } = request;
  const path = pathOf(place, key);
  const { pieces, argv } = workOf(request, `${path}.script`);
  const { exported, byEnv } = variablesOf(request.env);
  const inner = [...(request.before ?? []), ...argv];
  const command = byEnv.length === 0 ? inner : ["/usr/bin/env", ...byEnv, ...inner];
  const whole = [
    "setsid",
    ...script(
      place,
      RUN_START,
      "busbar",
      join(place.directory, START_FILE),
      path,
      formatTerms(terms),
      ...directoryFor(request, place, terms),
      timeLimitMs === undefined ? "" : WATCHDOG,
      String((timeLimitMs ?? 0) / 1_000),
      naps(killGraceMs),
      String(outputLimitBytes),
      String(pieces.length),
      String(exported.length),
      ...pieces,
      ...exported,
    ),
    ...command,
  ];
  checkSize(whole);
  return whole;
}

/** Where to work, and whether that is the run's own. */
function directoryFor(
  { cwd }: RunRequest,
  { directory }: RemotePlace,
  { work }: RemoteRunTerms,
): readonly [path: string, isOwn: "0" | "1"] {
  if (work !== undefined) return [join(directory, work), "1"];
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
      const argv = work.text.startsWith("#!") ? [path] : ["/bin/sh", path];
      return { pieces: [...piecesOf(work.text)], argv };
    }
    case "jobspec":
      throw new Error("a whole jobspec is for clusters that pull");
    case "workload":
      throw new Error("an instance of a workload is for workers that run containers");
  }
}

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

/** What a shell would keep for itself reaches the command by env(1). */
function variablesOf(env: Readonly<Record<string, string>>) {
  const exported: string[] = [];
  const byEnv: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    (isKeptByShell(name) ? byEnv : exported).push(`${name}=${value}`);
  }
  return { exported, byEnv };
}

/** What the system there, or the wire, would refuse is refused here, where it can be said why. */
function checkSize(argv: readonly string[]): void {
  let bytes = 0;
  for (const argument of argv) {
    if (argument.includes("\0")) throw new Error("an argument or a variable contains a NUL byte");
    const size = Buffer.byteLength(argument) + 1;
    bytes += size + 8;
    if (size > limits.remoteArgumentBytesMax) throw new Error(REFUSALS["too-long"](""));
  }
  if (bytes > limits.remoteCommandBytesMax) throw new Error(REFUSALS["too-long"](""));
}
