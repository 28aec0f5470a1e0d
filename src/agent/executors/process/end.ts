import { unreachable } from "../../../lib/invariant.ts";
import type { RunEnd } from "../../../ports/executor.ts";
import type { Stop } from "./run.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { REFUSALS } from "../../runs/command-outcome.ts";

/**
 * How a run ended, from what its wrapper left (undefined: nothing) and what we intended. Once a
 * stop was written down the run is stopped, whatever it made of the signal: who wanted it gone
 * must not see it "fail".
 */
export function endOf(
  outcome: CommandOutcome | undefined,
  stop: Stop | undefined,
  names: { readonly program: string; readonly vanished: string },
): RunEnd {
  if (stop !== undefined) return { kind: stop.cause, signal: signalOf(outcome, stop) };
  if (outcome === undefined) return { kind: "vanished", message: names.vanished };
  switch (outcome.kind) {
    case "exited":
    case "signalled":
      return outcome;
    case "not-executed":
      return { kind: "could-not-start", message: REFUSALS[outcome.why](names.program) };
    default:
      return unreachable(outcome);
  }
}

function signalOf(outcome: CommandOutcome | undefined, stop: Stop): string | undefined {
  // Without a word of the wrapper: our signal reached it before its command, or killed it too.
  if (outcome === undefined) return stop.sent ?? "SIGTERM";
  return outcome.kind === "signalled" ? outcome.signal : undefined;
}
