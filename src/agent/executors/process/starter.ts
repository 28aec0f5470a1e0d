import type { CommandOutcome } from "../../runs/command-outcome.ts";

/** One command to start, complete. Nothing in it is ever part of a command string. */
export interface Launch {
  /** Names the run; also the last part of `directory`. */
  readonly key: string;
  /** The run's directory, made by the starter: for the state file, the output, the script. */
  readonly directory: string;
  readonly argv: readonly string[];
  /** Added to the environment the starter was made with. */
  readonly env: Readonly<Record<string, string>>;
  /** undefined: an empty directory of the run's own, `work` in `directory`. */
  readonly cwd: string | undefined;
  /** Written to `script` in `directory` before the command begins. */
  readonly script: string | undefined;
}

/** What became of a launch. */
export type Gone =
  | {
      readonly kind: "ended"; // the wrapper's own words; the state file says the same
      readonly outcome: CommandOutcome;
      readonly outputBytes: readonly [stdout: number, stderr: number];
      /** Nothing of the run is left in its directory: see `recycle`. */
      readonly isClean: boolean;
    }
  | { readonly kind: "gone"; readonly how: string } // what there is to know stands in the state file
  | { readonly kind: "could-not-start"; readonly message: string };

/**
 * Starts commands, each in a session of its own under a wrapper that claims the run, leaves the end
 * in the state file, and outlives this process. Of two wrappers of one run only one goes on.
 *
 * - `onGone` is called exactly once, never from within `start`; after `close`, never. It is called
 *   with "gone" too when another wrapper had claimed the run.
 * - `recycle` takes the directory of a run that is no longer needed and was clean, to use it for
 *   another; false: it has no use for it, and the directory stays.
 */
export interface ProcessStarter {
  start(launch: Launch, onGone: (gone: Gone) => void): void;
  recycle(directory: string): boolean;
  close(): void;
}
