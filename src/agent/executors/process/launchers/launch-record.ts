import type { Usage } from "../../../../core/model/job/usage.ts";
import type { ProcessIdentity } from "../../../proc.ts";
import type { CommandOutcome } from "../../../runs/command-outcome.ts";
import { parseOutcomeLine } from "./wrapper.ts";

/** One line of a native launcher, in its record and on its standard output: see launcher.c. */
export type RecordLine =
  | {
      readonly kind: "launcher";
      readonly launcher: ProcessIdentity;
      readonly keeper: ProcessIdentity;
    }
  | {
      readonly kind: "started";
      readonly key: string;
      readonly slot: string;
      readonly session: ProcessIdentity;
      readonly atMs: number;
    }
  | { readonly kind: "unstarted"; readonly key: string; readonly outcome: CommandOutcome }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly outcome: CommandOutcome;
      readonly atMs: number;
      /** undefined: no process was made. */
      readonly usage: Usage | undefined;
      readonly outputBytes: readonly [stdout: number, stderr: number];
      readonly isClean: boolean;
    }
  | { readonly kind: "drained" } // it starts no more commands
  | { readonly kind: "refused"; readonly key: string; readonly errno: number };

/** undefined: not a line of a launcher, or a damaged one. */
export function parseRecordLine(line: string): RecordLine | undefined {
  const [kind, key = "", ...rest] = line.split(" ");
  switch (kind) {
    case "l":
      return {
        kind: "launcher",
        launcher: identity(key, rest[0]),
        keeper: identity(rest[1], rest[2]),
      };
    case "s": {
      const [slot = "", pid, ticks, atMs, bootUs] = rest;
      if (bootUs === undefined) return undefined;
      return { kind: "started", key, slot, session: identity(pid, ticks), atMs: Number(atMs) };
    }
    case "u": {
      const outcome = parseOutcomeLine(`${rest[1]} ${rest[2]}`);
      return outcome && { kind: "unstarted", key, outcome };
    }
    case "e":
      return parseEnd(key, rest);
    case "d":
      return { kind: "drained" };
    case "r":
      return { kind: "refused", key, errno: Number(rest[0]) };
    case undefined:
    default:
      return undefined;
  }
}

function parseEnd(key: string, rest: readonly string[]): RecordLine | undefined {
  const outcome = parseOutcomeLine(`${rest[1]} ${rest[2]}`);
  if (outcome === undefined || rest.length !== 12) return undefined;
  const [atMs, wallUs, userUs, systemUs, maxRssKib, majorFaults, stdout, stderr] = rest
    .slice(3, 11)
    .map(Number) as [number, number, number, number, number, number, number, number];
  return {
    kind: "ended",
    key,
    outcome,
    atMs,
    usage:
      rest[1] === "unforked"
        ? undefined
        : { cpuUs: userUs + systemUs, wallUs, maxRssKib, majorFaults },
    outputBytes: [stdout, stderr],
    isClean: rest[11] === "1",
  };
}

const identity = (pid: string | undefined, startTicks = ""): ProcessIdentity => ({
  pid: Number(pid),
  startTicks,
});
