import { spawn } from "node:child_process";
import {
  accessSync,
  constants as fileConstants,
  existsSync,
  mkdirSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

import { describeChain } from "../../../lib/errors.ts";
import { REFUSALS } from "../../runs/command-outcome.ts";
import {
  describeMachineFault,
  describeOwnFault,
  errnoOf,
  isMachineFault,
} from "../../runs/machine-fault.ts";
import type { Gone, Launch, ProcessStarter } from "./starter.ts";
import { isKeptByShell, SHELLS } from "../../runs/shells.ts";
import { WRAPPER } from "./wrapper.ts";

/**
 * One shell per run by Node's own spawn: it needs nothing but a shell, and costs this process a
 * fork for each, which blocks it and grows with its memory.
 */
export function createSpawnStarter(baseEnv: Readonly<Record<string, string>>): ProcessStarter {
  const shell = SHELLS.find((path) => existsSync(path)) ?? "/bin/sh";
  let closed = false;

  return {
    start(launch, onGone, onStarted) {
      const tell = (gone: Gone): void => {
        if (!closed) onGone(gone);
      };
      let cwd: string;
      try {
        cwd = makeDirectories(launch);
      } catch (error) {
        const message = describeOwnFault(error, launch.directory);
        queueMicrotask(() => tell({ kind: "node-fault", message }));
        return;
      }
      try {
        const child = spawn(shell, ["-c", WRAPPER, launch.directory, ...argvOf(launch)], {
          cwd,
          env: envOf(launch, baseEnv),
          stdio: "ignore",
          detached: true,
        });
        child.unref(); // a run does not keep an agent alive that wants to end
        child.once("error", (error) => tell(couldNotStart(error, cwd)));
        child.once("exit", (code, signal) => tell({ kind: "gone", how: signal ?? `exit ${code}` }));
        onStarted(undefined);
      } catch (error) {
        queueMicrotask(() => tell(couldNotStart(error, cwd)));
      }
    },
    cancel: () => false,
    recycle: () => false,
    close() {
      closed = true;
    },
  };
}

/** Returns the working directory. What is there already is another wrapper's: it has the claim. */
function makeDirectories({ directory, cwd, script }: Launch): string {
  const work = join(directory, "work");
  for (const path of cwd === undefined ? [directory, work] : [directory]) makeOne(path);
  // Closed again before any fork, or the kernel would refuse to run it as "text file busy".
  if (script !== undefined) writeFileSync(join(directory, "script"), script, { mode: 0o700 });
  return cwd ?? work;
}

/** Not its parents: those are gone when the data directory is, and somebody must know. */
function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== constants.errno.EEXIST) throw error;
  }
}

function envOf(launch: Launch, baseEnv: Readonly<Record<string, string>>): Record<string, string> {
  const env = { ...baseEnv };
  for (const [name, value] of Object.entries(launch.env)) {
    if (!isKeptByShell(name)) env[name] = value;
  }
  return env;
}

function argvOf({ env, argv }: Launch): readonly string[] {
  const byEnv: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (isKeptByShell(name)) byEnv.push(`${name}=${value}`);
  }
  return byEnv.length === 0 ? argv : ["/usr/bin/env", ...byEnv, ...argv];
}

/** Node throws some of these and emits others. What is spawned is our shell, not the work. */
function couldNotStart(error: unknown, cwd: string): Gone {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = MESSAGES[code];
  if (message !== undefined) return { kind: "could-not-start", message };
  const number = errnoOf(error);
  if (number === undefined) return { kind: "could-not-start", message: describeChain(error) };
  if (isMachineFault(number)) return { kind: "node-fault", message: describeMachineFault(number) };
  if (!isEnterable(cwd)) return { kind: "could-not-start", message: REFUSALS["no-directory"]("") };
  return { kind: "node-fault", message: `this machine has no shell: ${describeChain(error)}` };
}

function isEnterable(directory: string): boolean {
  try {
    accessSync(directory, fileConstants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const MESSAGES: Readonly<Record<string, string>> = {
  E2BIG: "the arguments and the environment together are too long for this machine",
  ERR_INVALID_ARG_VALUE: "an argument or a variable contains a NUL byte",
};
