import { type Command, Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import { duration, wholeNumber } from "../flags.ts";

export interface QuarantineFlags {
  /** Different jobs; 0: never. */
  readonly quarantineAfter: number;
  readonly quarantineQuick: number;
  readonly quarantineFor: number;
}

export function addQuarantineFlags(command: Command): void {
  command
    .addOption(
      new Option(
        "--quarantine-after <jobs>",
        "quarantine a node when this many jobs in a row fail there at once (0: never)",
      )
        .argParser(wholeNumber("--quarantine-after", { min: 0, max: limits.suspectJobsPerNodeMax }))
        .default(limits.quarantineJobs),
    )
    .addOption(
      new Option(
        "--quarantine-quick <duration>",
        "a failure within this time of the start counts as at once",
      )
        .argParser(duration("--quarantine-quick"))
        .default(limits.quickFailureMs, formatDuration(limits.quickFailureMs)),
    )
    .addOption(
      new Option(
        "--quarantine-for <duration>",
        "then try one task there; each that also fails at once doubles this time",
      )
        .argParser(duration("--quarantine-for"))
        .default(limits.quarantineMs, formatDuration(limits.quarantineMs)),
    );
}

/** Throws `invalid_argument` for times that contradict each other. */
export function checkQuarantine(flags: QuarantineFlags): void {
  const { quarantineAfter: jobs, quarantineQuick: quickMs, quarantineFor: firstMs } = flags;
  if (jobs === 1) {
    throw invalid("--quarantine-after", "one job alone is no sign of a bad node; write 2 or more");
  }
  if (quickMs > firstMs) {
    const first = formatDuration(firstMs);
    throw invalid("--quarantine-quick", `must not be longer than --quarantine-for, ${first}`);
  }
  if (firstMs > limits.quarantineMsMax) {
    const most = formatDuration(limits.quarantineMsMax);
    throw invalid("--quarantine-for", `at most ${most}, to which the wait grows by itself`);
  }
}
