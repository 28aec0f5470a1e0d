import { signalName } from "../../runs/command-outcome.ts";
import type { LowerEnd, LowerState } from "../../lower/scheduler.ts";
import { asciiId } from "./job-id.ts";

/** One line per job; the note comes last, as it may hold anything. */
export const JOB_FORMAT =
  "{id.f58}|{state}|{result}|{waitstatus}|{t_run}|{t_cleanup}|{t_inactive}|{annotations.sched.reason_pending}|{exception.type}|{exception.note}";

/** Parses a line of `flux jobs`; undefined: not a line about a job, such as the rest of a note. */
export function parseJobLine(
  line: string,
): { readonly id: string; readonly state: LowerState } | undefined {
  const [id, state, result, status, run, cleanup, inactive, pending, exception, ...note] =
    line.split("|");
  if (id === undefined || exception === undefined || !/^[fƒ]\w+$/.test(id)) return undefined;
  const startedAtMs = timeOf(run);
  const endedAtMs = timeOf(cleanup) ?? timeOf(inactive) ?? startedAtMs ?? 0;
  const told = {
    result,
    status,
    pending: pending ?? "",
    exception,
    note: note.join("|"),
    hasBegun: startedAtMs !== undefined,
  };
  return { id: asciiId(id), state: stateOf(state ?? "", { startedAtMs, endedAtMs, told }) };
}

interface Told {
  readonly result: string | undefined;
  /** The status of wait(2); empty: the job never ended by itself. */
  readonly status: string | undefined;
  /** Why it is pending; some schedulers of Flux report it. */
  readonly pending: string;
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
    // A job in cleanup has no result yet.
    case "RUN":
    case "CLEANUP":
      return startedAtMs === undefined ? { kind: "queued" } : { kind: "running", startedAtMs };
    case "DEPEND":
      return { kind: "queued", reason: "it waits for other jobs" };
    default: // NEW, PRIORITY, SCHED, and states of later versions
      return { kind: "queued", reason: told.pending === "" ? `state ${state}` : told.pending };
  }
}

/** How a job ended, by result, exception and exit code. */
function endOf({ result, status, exception, note, hasBegun }: Told): LowerEnd {
  const because = note === "" ? exception : note;
  if (result === "COMPLETED") return { kind: "exited", exitCode: 0 };
  if (result === "TIMEOUT") return { kind: "time-limit", signal: undefined };
  if (result === "CANCELED") return { kind: "cancelled" };
  if (!hasBegun) {
    if (exception === "dependency") return { kind: "skipped", message: because };
    return { kind: "could-not-start", message: because === "" ? "Flux did not start it" : because };
  }
  const number = status === undefined || status === "" ? Number.NaN : Number(status);
  if (LOSSES.has(exception) || !Number.isSafeInteger(number)) {
    return { kind: "vanished", message: because === "" ? "Flux lost it" : because };
  }
  const signal = number % 128;
  if (signal > 0) return { kind: "signalled", signal: signalName(signal) };
  // For processes that a signal ended Flux reports 128 plus its number.
  return { kind: "exited", exitCode: Math.floor(number / 256) };
}

/** Exceptions that the job itself does not cause. */
const LOSSES = new Set(["node-failure", "lost-shell"]);

/** Seconds since 1970; 0 means never. */
function timeOf(text: string | undefined): number | undefined {
  const seconds = Number(text);
  return Number.isFinite(seconds) && seconds > 0 ? Math.round(seconds * 1_000) : undefined;
}
