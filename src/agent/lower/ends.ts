import { unreachable } from "../../lib/invariant.ts";
import type { RunEnd } from "../../ports/executor.ts";
import type { CommandOutcome } from "../runs/command-outcome.ts";
import { REFUSALS } from "../runs/command-outcome.ts";
import { describeMachineFault } from "../runs/machine-fault.ts";
import type { Part, PartEnd, LowerRun, LowerStop } from "./run.ts";
import type { LowerEnd } from "./scheduler.ts";

export interface About {
  readonly stop: LowerStop | undefined;
  readonly hasBegun: boolean;
  readonly program: string;
  /** The scheduler's name, for people. */
  readonly scheduler: string;
}

/**
 * How a part ended, from the scheduler's state and the record of its wrapper (undefined: none). The wrapper
 * knows better how the command ended, the scheduler why. Once a stop is in the journal the part counts as
 * stopped, whatever its command did then.
 */
export function endOfPart(
  lower: LowerEnd,
  outcome: CommandOutcome | undefined,
  about: About,
): PartEnd {
  if (about.stop !== undefined) {
    return { kind: about.stop.cause, signal: signalOf(outcome, about.hasBegun) };
  }
  switch (lower.kind) {
    case "exited":
    case "signalled":
    case "vanished":
      return outcome === undefined ? lower : endOfOutcome(outcome, about.program);
    case "cancelled":
      if (about.hasBegun) return { kind: "signalled", signal: "SIGTERM" };
      return {
        kind: "could-not-start",
        message: `it was cancelled in ${about.scheduler} before it began`,
      };
    case "time-limit":
    case "out-of-memory":
    case "could-not-start":
    case "node-fault":
    case "skipped":
      return lower;
    default:
      return unreachable(lower);
  }
}

function endOfOutcome(outcome: CommandOutcome, program: string): RunEnd {
  if (outcome.kind === "machine-fault") {
    return { kind: "node-fault", message: describeMachineFault(outcome.errno) };
  }
  if (outcome.kind !== "not-executed") return outcome;
  return { kind: "could-not-start", message: REFUSALS[outcome.why](program) };
}

function signalOf(outcome: CommandOutcome | undefined, hasBegun: boolean): string | undefined {
  if (outcome === undefined) return hasBegun ? "SIGTERM" : undefined;
  return outcome.kind === "signalled" ? outcome.signal : undefined;
}

/** How a run ended, all of whose parts have: successfully, or like the first of its parts that failed. */
export function endOfRun(run: LowerRun): RunEnd {
  const failures = run.parts.flat().filter((part) => failureOf(part) !== undefined);
  const [first] = failures.toSorted((a, b) => endedAtMs(a) - endedAtMs(b));
  if (run.stop !== undefined) {
    const end = first && failureOf(first);
    const signal = end !== undefined && "signal" in end ? end.signal : undefined;
    // All parts succeeded before the stop reached them: the run succeeded.
    return first === undefined ? { kind: "exited", exitCode: 0 } : { kind: run.stop.cause, signal };
  }
  return (first && failureOf(first)) ?? { kind: "exited", exitCode: 0 };
}

function failureOf({ state }: Part): RunEnd | undefined {
  if (state.kind !== "ended" || state.end.kind === "skipped") return undefined;
  return state.end.kind === "exited" && state.end.exitCode === 0 ? undefined : state.end;
}

const endedAtMs = ({ state }: Part): number => (state.kind === "ended" ? state.endedAtMs : 0);
