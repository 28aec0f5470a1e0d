import { spawn } from "node:child_process";
import {
  accessSync,
  constants as fileConstants,
  existsSync,
  mkdirSync,
  writeFileSync,
} from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";

import { describeChain } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Clock } from "../../../../ports/clock.ts";
import { REFUSALS } from "../../../runs/command-outcome.ts";
import {
  describeMachineFault,
  describeOwnFault,
  errnoOf,
  isMachineFault,
} from "../../../runs/machine-fault.ts";
import { type Gone, type Launch, type ProcessStarter, NO_LIMITS_HERE, STOPPED } from "./starter.ts";
import { isKeptByShell, SHELLS } from "../../../runs/shells.ts";
import { WRAPPER } from "./wrapper.ts";

interface Asked {
  readonly launch: Launch;
  readonly onGone: (gone: Gone) => void;
  readonly onStarted: (atMs: number | undefined) => void;
}

/**
 * One shell per run by Node's own spawn: it needs only a shell, and costs this process a fork for each, which blocks it and grows with its
 * memory. So a turn of the event loop has at most one fork, and few shells are starting at once; the other launches wait here, where a stop
 * removes them.
 */
export class SpawnStarter implements ProcessStarter {
  readonly #shell = SHELLS.find((path) => existsSync(path)) ?? "/bin/sh";
  readonly #baseEnv: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #queue = new Map<string, Asked>();
  #onTheWay = 0;
  #rest: (() => void) | undefined; // until the next turn
  #isClosed = false;

  constructor(baseEnv: Readonly<Record<string, string>>, clock: Clock) {
    this.#baseEnv = baseEnv;
    this.#clock = clock;
  }

  start(launch: Launch, onGone: Asked["onGone"], onStarted: Asked["onStarted"]): void {
    if (launch.limits !== undefined) {
      queueMicrotask(() => {
        if (!this.#isClosed) onGone(NO_LIMITS_HERE);
      });
      return;
    }
    this.#queue.set(launch.key, { launch, onGone, onStarted });
    this.#pump();
  }

  cancel(key: string): boolean {
    const asked = this.#queue.get(key);
    if (asked === undefined) return false;
    this.#queue.delete(key);
    queueMicrotask(() => {
      if (!this.#isClosed) asked.onGone(STOPPED);
    });
    return true;
  }

  recycle(): boolean {
    return false;
  }

  close(): void {
    this.#isClosed = true;
    this.#rest?.();
  }

  #pump(): void {
    if (this.#rest !== undefined || this.#onTheWay >= limits.spawnsOnTheWayMax) return;
    const [first] = this.#queue.values();
    if (first === undefined || this.#isClosed) return;
    this.#queue.delete(first.launch.key);
    this.#rest = this.#clock.after(0, () => {
      this.#rest = undefined;
      this.#pump();
    });
    this.#spawn(first);
  }

  #spawn({ launch, onGone, onStarted }: Asked): void {
    let isOnTheWay = true;
    this.#onTheWay += 1;
    const arrive = (): void => {
      if (!isOnTheWay) return;
      isOnTheWay = false;
      this.#onTheWay -= 1;
      this.#pump();
    };
    const tell = (gone: Gone): void => {
      arrive();
      if (!this.#isClosed) onGone(gone);
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
      const child = spawn(
        this.#shell,
        ["-c", WRAPPER, launch.directory, launch.group?.path ?? "", ...argvOf(launch)],
        {
          cwd,
          env: envOf(launch, this.#baseEnv),
          stdio: ["ignore", "ignore", "ignore", "pipe"], // see WRAPPER: it reports its beginning
          detached: true,
        },
      );
      child.unref(); // a run does not keep an ending agent alive
      const word = child.stdio[3] as Socket;
      word.unref();
      word.on("error", () => undefined); // "close" follows
      word.once("data", () => {
        word.destroy();
        if (!this.#isClosed) onStarted(this.#clock.nowMs());
        arrive();
      });
      child.once("error", (error) => tell(couldNotStart(error, cwd)));
      child.once("close", (code, signal) => tell({ kind: "gone", how: signal ?? `exit ${code}` }));
    } catch (error) {
      queueMicrotask(() => tell(couldNotStart(error, cwd)));
    }
  }
}

/** Returns the working directory. An existing one belongs to another wrapper, which has the claim. */
function makeDirectories({ directory, cwd, script }: Launch): string {
  const work = join(directory, "work");
  for (const path of cwd === undefined ? [directory, work] : [directory]) makeOne(path);
  // Closed again before any fork, or the kernel would refuse to run it as "text file busy".
  if (script !== undefined) writeFileSync(join(directory, "script"), script, { mode: 0o700 });
  return cwd ?? work;
}

/** Does not make parents: they are missing when the data directory was removed, which must be an error. */
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

/** Node throws some of these errors and emits others. The spawned program is the wrapper's shell, not the work. */
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
