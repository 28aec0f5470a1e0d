import type { FactEntry } from "../../../core/model/node/node-facts.ts";
import type { RunEnd, RunRequest } from "../../../ports/executor.ts";

/** The parts of a run with containers that the executor passes on. */
export interface ContainedRun {
  /** The key of the run. */
  readonly key: string;
  readonly request: RunRequest;
  /** Variables that every process of the run has. */
  readonly env: Readonly<Record<string, string>>;
  /** The file in which it may report its progress. */
  readonly progressFile: string;
  /** Of each process: `resource` is the number of setrlimit(2). */
  readonly limits:
    | readonly { readonly resource: number; readonly soft: number; readonly hard: number }[]
    | undefined;
}

/**
 * Puts the work of runs into containers: makes a command of them, which the process executor starts and
 * supervises like any other.
 *
 * - `commandOf` returns the command of a run: it ends when the containers have ended, with the exit code of the first that
 *   did, and TERM ends it. Throws an Error whose message is for people when the work is to blame.
 * - `judge` derives the end of the run with this key from the end of its command. For a run without containers both are the same.
 * - `ended` removes the leftovers of its containers, `recover` those of all runs that are not active.
 */
export interface RunContainers {
  /** Entries of the subsystem "containers": whether this machine can start containers, and why not. */
  facts(): readonly FactEntry[];
  commandOf(run: ContainedRun): readonly string[];
  judge(key: string, end: RunEnd): RunEnd;
  ended(key: string): void;
  recover(activeKeys: ReadonlySet<string>): void;
  /** Resolves when nothing is left to remove. */
  close(): Promise<void>;
}
