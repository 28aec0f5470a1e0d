import type { SlurmJob } from "./states.ts";

/** Separated by bars; a field that may contain one comes last. */
const FIELDS = ["JobArrayID", "State", "Reason", "exit_code", "StartTime", "EndTime", "Comment"];

/** All jobs of this user that Slurm has, elements of arrays one by one. */
export const SQUEUE: readonly string[] = [
  "--me",
  "--noheader",
  "--array",
  "--states=all",
  `--Format=${FIELDS.map((name) => `${name}:|`).join(",")}`,
];

export interface QueuedJob extends SlurmJob {
  readonly comment: string;
}

export function parseSqueue(output: string): readonly QueuedJob[] {
  return output.split("\n").flatMap((line) => {
    const [named = "", state = "", reason = "", status = "", start = "", end = "", ...rest] = line
      .split("|")
      .map((text) => text.trim());
    const id = idIn(named);
    if (id === undefined) return [];
    const wait = Number(status) || 0; // the status of wait(2)
    return [
      {
        id,
        state,
        reason,
        exitCode: (wait >> 8) & 0xff,
        signal: wait & 0x7f,
        startedAtMs: toMs(start),
        endedAtMs: toMs(end),
        comment: rest.slice(0, -1).join("|"),
      },
    ];
  });
}

/** By array: elements that never began have no record of their own. */
export const sacctFor = (ids: readonly string[]): readonly string[] => [
  ...SACCT,
  `--jobs=${[...new Set(ids.map((id) => id.split("_")[0]))].join(",")}`,
];

/** For jobs that squeue no longer lists. */
export const sacctSince = (start: string): readonly string[] => [
  ...SACCT,
  `--user=${process.getuid?.() ?? 0}`,
  `--starttime=${start}`,
];

const SACCT: readonly string[] = [
  "--noheader",
  "--parsable2",
  "--allocations",
  "--format=JobID,State,ExitCode,Start,End,Comment",
];

export function parseSacct(output: string): readonly QueuedJob[] {
  return output.split("\n").flatMap((line) => {
    const [named = "", words = "", code = "", start = "", end = "", ...rest] = line.split("|");
    const id = idIn(named);
    if (id === undefined) return [];
    const [state = ""] = words.split(" "); // "CANCELLED by 1000"
    const [exitCode = 0, signal = 0] = code.split(":").map((text) => Number(text) || 0);
    const times = { startedAtMs: toMs(start), endedAtMs: toMs(end) };
    return [{ id, state, reason: "", exitCode, signal, ...times, comment: rest.join("|") }];
  });
}

/** "12", "12_3"; of elements that never began, "12_[0-2,7%4]", the id of their array. */
function idIn(text: string): string | undefined {
  const [, job, element] = /^(\d+)(?:_(\d+|\[.*\]))?$/.exec(text) ?? [];
  return job === undefined || element === undefined || element.startsWith("[")
    ? job
    : `${job}_${element}`;
}

/** With SLURM_TIME_FORMAT=%s; "NONE", "N/A", "Unknown": none. */
const toMs = (seconds: string): number | undefined =>
  /^\d+$/.test(seconds) && seconds !== "0" ? Number(seconds) * 1_000 : undefined;
