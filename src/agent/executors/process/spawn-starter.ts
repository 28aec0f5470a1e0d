import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describeChain } from "../../../lib/errors.ts";
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
      try {
        const child = spawn(shell, ["-c", WRAPPER, launch.directory, ...argvOf(launch)], {
          cwd: makeDirectories(launch),
          env: envOf(launch, baseEnv),
          stdio: "ignore",
          detached: true,
        });
        child.unref(); // a run does not keep an agent alive that wants to end
        child.once("error", (error) => tell(couldNotStart(error)));
        child.once("exit", (code, signal) => tell({ kind: "gone", how: signal ?? `exit ${code}` }));
        onStarted(undefined);
      } catch (error) {
        queueMicrotask(() => tell(couldNotStart(error)));
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
  mkdirSync(cwd === undefined ? work : directory, { recursive: true, mode: 0o700 });
  // Closed again before any fork, or the kernel would refuse to run it as "text file busy".
  if (script !== undefined) writeFileSync(join(directory, "script"), script, { mode: 0o700 });
  return cwd ?? work;
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

/** Node throws some of these and emits others. */
function couldNotStart(error: unknown): Gone {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { kind: "could-not-start", message: MESSAGES[code] ?? describeChain(error) };
}

const MESSAGES: Readonly<Record<string, string>> = {
  E2BIG: "the arguments and the environment together are too long for this machine",
  ERR_INVALID_ARG_VALUE: "an argument or a variable contains a NUL byte",
};
