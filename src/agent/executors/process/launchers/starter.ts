import type { Usage } from "../../../../core/model/job/usage.ts";
import type { CommandOutcome } from "../../../runs/command-outcome.ts";

import type { GroupWrite } from "../cgroups/enforcement.ts";

/** One command to start, complete. No field ever becomes part of a command string. */
export interface Launch {
  /** The key of the run; also the last part of `directory`. */
  readonly key: string;
  /** The run's directory, made by the starter: for the state file, the output, the script. */
  readonly directory: string;
  readonly argv: readonly string[];
  /** Added to the environment of the starter. */
  readonly env: Readonly<Record<string, string>>;
  /** undefined: an empty directory of the run's own, `work` in `directory`. */
  readonly cwd: string | undefined;
  /** Written to `script` in `directory` before the command begins. */
  readonly script: string | undefined;
  /** The control group of the command, which exists by then; absent: the agent's own. */
  readonly group?: { readonly path: string; readonly writes: readonly GroupWrite[] };
  /** `resource` is the number of setrlimit(2). Only native launchers support it: others then start nothing. */
  readonly limits?:
    | readonly {
        readonly resource: number;
        readonly soft: number;
        readonly hard: number;
      }[]
    | undefined;
}

/** The outcome of a launch. */
export type Gone =
  | {
      readonly kind: "ended"; // the wrapper's record; the state file has the same
      readonly outcome: CommandOutcome;
      readonly outputBytes: readonly [stdout: number, stderr: number];
      /** The run left no files in its directory: see `recycle`. */
      readonly isClean: boolean;
      /** False: no files are left, and nothing must be removed. */
      readonly hasFiles: boolean;
      /** By the wrapper's own clock; undefined: just now. */
      readonly endedAtMs: number | undefined;
      /** The usage of the command; undefined: the wrapper could not measure it. */
      readonly usage: Usage | undefined;
    }
  | { readonly kind: "gone"; readonly how: string } // the state file holds the outcome
  | { readonly kind: "could-not-start"; readonly message: string }
  /** A fault of the machine. */
  | { readonly kind: "node-fault"; readonly message: string };

/**
 * Starts commands, each in a session of its own under a wrapper that claims the run, leaves the end in the state file, and outlives this
 * process. Of two wrappers of one run only one continues.
 *
 * - `onGone` is called exactly once, never from within `start`; after `close`, never. It is called
 *   with "gone" too when another wrapper had claimed the run.
 * - `onStarted` is called at most once, before `onGone`, when the process exists: with the time it
 *   began, if the wrapper says so.
 * - Launches go to wrappers as fast as these begin them; the others wait, however long.
 * - `cancel` removes a launch that no wrapper has yet: true, and `onGone` follows.
 * - `renew`, where there is one, is called when the directories that it uses may have been recreated: later launches use the
 *   new ones.
 * - `recycle` accepts the clean directory of a run that is no longer needed, to use it for
 *   another; false: it does not need it, and the directory stays.
 */
export interface ProcessStarter {
  start(
    launch: Launch,
    onGone: (gone: Gone) => void,
    onStarted: (atMs: number | undefined) => void,
  ): void;
  cancel(key: string): boolean;
  recycle(directory: string): boolean;
  renew?(): void;
  close(): void;
}

/** The failure of a launch with limits, for launchers that cannot set them. */
export const NO_LIMITS_HERE: Gone = {
  kind: "node-fault",
  message: "only the native launcher can limit the memory of a process (--enforce process-memory)",
};

/** A launch that was cancelled before any wrapper had it. */
export const STOPPED: Gone = {
  kind: "ended",
  outcome: { kind: "not-executed", why: "stopped" },
  outputBytes: [0, 0],
  isClean: true,
  hasFiles: false,
  endedAtMs: undefined,
  usage: undefined,
};
