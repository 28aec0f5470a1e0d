import { signalName } from "../../runs/command-outcome.ts";
import type { LowerEnd, LowerState } from "../../lower/scheduler.ts";
import { asciiId } from "./job-id.ts";

/** One line a job; the note comes last, as it may hold anything. */
export const JOB_FORMAT =
  "{id.f58}|{state}|{result}|{returncode}|{t_run}|{t_cleanup}|{t_inactive}|{exception.type}|{exception.note}";

/** What a line of `flux jobs` says; undefined: not a line about a job, such as the rest of a note. */
export function parseJobLine(
  line: string,
): { readonly id: string; readonly state: LowerState } | undefined {
  const [id, state, result, code, run, cleanup, inactive, exception, ...note] = line.split("|");
  if (id === undefined || exception === undefined || !/^[fƒ]\w+$/.test(id)) return undefined;
  const startedAtMs = timeOf(run);
  const endedAtMs = timeOf(cleanup) ?? timeOf(inactive) ?? startedAtMs ?? 0;
  const told = {
    result,
    code,
    exception,
    note: note.join("|"),
    hasBegun: startedAtMs !== undefined,
  };
  return { id: asciiId(id), state: stateOf(state ?? "", { startedAtMs, endedAtMs, told }) };
}

interface Told {
  readonly result: string | undefined;
  readonly code: string | undefined;
  readonly exception: string;
  readonly note: string;
  readonly hasBegun: boolean;
}

function stateOf(
  state: string,
  about: { startedAtMs: number | undefined; endedAtMs: number; told: Told },
): LowerState {
  const { startedAtMs, endedAtMs, told } = about;
  switch (state) {
    case "INACTIVE":
      return { kind: "ended", startedAtMs, endedAtMs, end: endOf(told) };
    // What is being cleaned up has no result yet.
    case "RUN":
    case "CLEANUP":
      return startedAtMs === undefined ? { kind: "queued" } : { kind: "running", startedAtMs };
    case "DEPEND":
      return { kind: "queued", reason: "it waits for other jobs" };
    default:
      return { kind: "queued" }; // NEW, PRIORITY, SCHED, and what there may be once
  }
}

/** What a job became, by result, exception and exit code. */
function endOf({ result, code, exception, note, hasBegun }: Told): LowerEnd {
  const because = note === "" ? exception : note;
  if (result === "COMPLETED") return { kind: "exited", exitCode: 0 };
  if (result === "TIMEOUT") return { kind: "time-limit", signal: undefined };
  if (result === "CANCELED") return { kind: "cancelled" };
  if (!hasBegun) {
    if (exception === "dependency") return { kind: "skipped", message: because };
    return { kind: "could-not-start", message: because === "" ? "Flux did not start it" : because };
  }
  const number = code === undefined || code === "" ? Number.NaN : Number(code);
  if (LOSSES.has(exception) || !Number.isSafeInteger(number)) {
    return { kind: "vanished", message: because === "" ? "Flux lost it" : because };
  }
  if (number < 0) return { kind: "signalled", signal: signalName(-number) };
  // Of processes that a signal ended Flux says 128 and its number.
  return { kind: "exited", exitCode: number };
}

/** Exceptions of which the job itself is no cause. */
const LOSSES = new Set(["node-failure", "lost-shell"]);

/** Seconds since 1970; 0 is never. */
function timeOf(text: string | undefined): number | undefined {
  const seconds = Number(text);
  return Number.isFinite(seconds) && seconds > 0 ? Math.round(seconds * 1_000) : undefined;
}
