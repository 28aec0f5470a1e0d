import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

import { describeChain } from "../../../lib/errors.ts";
import { SHELLS, WRAPPER } from "./wrapper.ts";

/** One command to start, complete. Nothing in it is ever part of a command string. */
export interface Launch {
  /** The run's directory: where the wrapper leaves its state and the output. */
  readonly directory: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How a wrapper went away. What the command did stands in the state file, not here. */
export type Gone =
  | { readonly kind: "ended"; readonly how: string }
  | { readonly kind: "could-not-start"; readonly message: string };

/**
 * Starts wrappers, each leading a session and a process group of its own.
 *
 * - `start` returns the wrapper's pid, undefined when there is none.
 * - `onGone` is called exactly once, never from within `start`, when the wrapper is gone or could
 *   not be started; after `close`, never.
 * - Wrappers and commands outlive this process.
 */
export interface ProcessStarter {
  start(launch: Launch, onGone: (gone: Gone) => void): number | undefined;
  close(): void;
}

/** One shell per run by Node's own spawn: simple, and about 1 ms of this process for each. */
export function createSpawnStarter(): ProcessStarter {
  const shell = SHELLS.find((path) => existsSync(path)) ?? "/bin/sh";
  let closed = false;

  const spawnWrapper = (launch: Launch) =>
    spawn(shell, ["-c", WRAPPER, launch.directory, ...launch.argv], {
      cwd: launch.cwd,
      env: launch.env,
      stdio: "ignore",
      detached: true,
    });

  return {
    start(launch, onGone) {
      const tell = (gone: Gone): void => {
        if (!closed) onGone(gone);
      };
      try {
        const child = spawnWrapper(launch);
        child.unref(); // a run does not keep an agent alive that wants to end
        child.once("error", (error) => tell(couldNotStart(error)));
        child.once("exit", (code, signal) =>
          tell({ kind: "ended", how: signal ?? `exit ${code}` }),
        );
        return child.pid;
      } catch (error) {
        queueMicrotask(() => tell(couldNotStart(error)));
        return undefined;
      }
    },
    close() {
      closed = true;
    },
  };
}

/** Node throws some of these and emits others. */
function couldNotStart(error: unknown): Gone {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { kind: "could-not-start", message: MESSAGES[code] ?? describeChain(error) };
}

const MESSAGES: Readonly<Record<string, string>> = {
  E2BIG: "the arguments and the environment together are too long for this machine",
  ERR_INVALID_ARG_VALUE: "an argument or a variable contains a NUL byte",
};
