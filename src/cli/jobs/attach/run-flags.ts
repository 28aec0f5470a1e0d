import { type Command, Option } from "commander";
import type { JobSubmissionInit } from "../../../client/messages.ts";
import { invalid } from "../../../lib/errors.ts";
import type { Context } from "../../context.ts";
import { duration, notEmpty } from "../../flags.ts";
import type { AttachedFields, JobFlags } from "../../submit/job-flags.ts";

/** Flags that only `run` has. */
export interface RunFlags extends JobFlags {
  /** False: --no-stdin. */
  readonly stdin?: string | false;
  readonly pty?: true;
  readonly hangUpAfter?: number;
}

export function addRunFlags(command: Command): void {
  command
    .optionsGroup("Input:")
    .option(
      "--stdin <file>",
      'pass this file on as standard input ("-": standard input, whatever it is)',
      notEmpty("--stdin"),
    )
    .option("-n, --no-stdin", "do not pass on a piped standard input")
    .option("--pty", "connect it to this terminal; without a command: a login shell")
    .option(
      "--hang-up-after <duration>",
      "hang up the task when this command is disconnected for this long (default: 1m)",
      duration("--hang-up-after"),
    )
    // Declared for an answer that says what to type instead.
    .addOption(new Option("--hold").hideHelp())
    .optionsGroup("Options:");
}

/** A script may ask for it, too. */
export function refuseHold(job: JobSubmissionInit): void {
  if (job.hold !== true) return;
  throw invalid("--hold", "busbar run waits for its job; busbar submit --hold submits one on hold");
}

/** How this command is attached to its task. */
export type Attach =
  | { readonly kind: "terminal" }
  /** `isAsked`: requested by a flag, not only because there is a pipe. */
  | { readonly kind: "stdin"; readonly path: string; readonly isAsked: boolean };

/** Flags of jobs without input: with them `run` ignores a pipe that no flag names. */
const NO_INPUT = [
  "array",
  "eachLine",
  "fromJson",
  "image",
  "energy",
  "retries",
  "restart",
] as const satisfies readonly (keyof JobFlags)[];

/** Undefined: standard input is not passed on. */
export function attachOf(flags: RunFlags, context: Context, isJson: boolean): Attach | undefined {
  const { stdin, pty, hangUpAfter } = flags;
  if (pty === true) {
    if (stdin !== undefined)
      throw invalid("--pty", "is the standard input, too: leave out one of them");
    if (isJson) throw invalid("--pty", "needs a terminal: leave out --output json");
    if (context.terminal === undefined) {
      throw invalid(
        "--pty",
        "standard input and output must be a terminal; --stdin - passes a pipe on",
      );
    }
    return { kind: "terminal" };
  }
  if (stdin !== undefined && stdin !== false) return { kind: "stdin", path: stdin, isAsked: true };
  const isTaken = Object.values(flags).includes("-");
  const takesNone = NO_INPUT.some((name) => flags[name] !== undefined);
  if (stdin === false || context.stdin !== "pipe" || isTaken || takesNone) {
    if (hangUpAfter !== undefined) throw invalid("--hang-up-after", "is for --stdin and --pty");
    return undefined;
  }
  return { kind: "stdin", path: "-", isAsked: false };
}

const LOGIN_SHELL = ["/bin/sh", "-c", 'exec "${SHELL:-/bin/sh}" -l'];

/** The command of a terminal. */
export const wordsOf = (
  words: readonly string[],
  attach: Attach | undefined,
  flags: RunFlags,
): readonly string[] =>
  attach?.kind === "terminal" && words.length === 0 && flags.script === undefined
    ? LOGIN_SHELL
    : words;

/** The fields of the job. */
export function attachFields(
  words: readonly string[],
  attach: Attach,
  { hangUpAfter, name }: RunFlags,
  { env }: Context,
): AttachedFields {
  const common = {
    attach: attach.kind,
    ...(hangUpAfter !== undefined && { hangUpMs: BigInt(hangUpAfter) }),
  };
  if (attach.kind === "stdin") return common;
  const isShell = words === LOGIN_SHELL && name === undefined;
  return { ...common, ...(isShell && { name: "shell" }), env: { TERM: env["TERM"] ?? "xterm" } };
}
