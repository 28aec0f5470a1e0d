import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { Usage } from "../../../../core/model/job/usage.ts";
import type { ProcessIdentity } from "../../../proc.ts";
import type { CommandOutcome } from "../../../runs/command-outcome.ts";
import type { RecordLine } from "./launch-record.ts";
import { parseRecordLine } from "./launch-record.ts";

/** One run in the record of a launcher. Its files are in the slot. */
export interface LoggedRun {
  readonly key: string;
  readonly slot: string;
  session: ProcessIdentity | undefined;
  startedAtMs: number | undefined;
  outcome: CommandOutcome | undefined;
  endedAtMs: number | undefined;
  usage: Usage | undefined;
  isStopMarked: boolean;
  /** False: it ended without leftovers, and the slot no longer belongs to it. */
  hasFiles: boolean;
}

/**
 * The directory of one launcher, which may belong to an earlier agent:
 *
 *   record     what the launcher did (see launcher.c)
 *   open       while this exists, the launcher may begin commands
 *   <slot>/    of one run at a time: stdout, stderr, work/, script, stopping
 */
export class LaunchLog {
  readonly directory: string;
  readonly runs = new Map<string, LoggedRun>();
  #launcher: ProcessIdentity | undefined;
  #keeper: ProcessIdentity | undefined;
  #offset = 0;
  #rest = "";
  #inode: number | undefined = undefined;

  /** A launcher of an earlier process: the agent adopts the runs that its record names. */
  readonly isEarlier: boolean;

  constructor(directory: string, isEarlier: boolean) {
    this.directory = directory;
    this.isEarlier = isEarlier;
  }

  /** Makes the directory for a new launcher. */
  static create(directory: string): LaunchLog {
    mkdirSync(directory, { mode: 0o700 }); // its parent is missing when the data directory was removed
    writeFileSync(join(directory, "open"), "");
    const log = new LaunchLog(directory, false);
    log.#inode = inodeOf(directory);
    return log;
  }

  /** False: the directory was deleted or replaced, and its launcher works in one that has no name. */
  get isThere(): boolean {
    return inodeOf(this.directory) === this.#inode;
  }

  directoryOf({ slot }: LoggedRun): string {
    return join(this.directory, slot);
  }

  /** Registers a run before the launcher receives it. */
  expect(key: string, slot: string): void {
    this.runs.set(key, makeRun(key, slot));
  }

  /** After this the launcher begins no more commands; a later `read` knows all that have begun. */
  close(): void {
    rmSync(join(this.directory, "open"), { force: true });
  }

  /** Reads the lines that were recorded since the last call. */
  read(): void {
    let file: number;
    try {
      file = openSync(join(this.directory, "record"), "r");
    } catch {
      return; // it never started
    }
    try {
      const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - this.#offset));
      const got = readSync(file, bytes, 0, bytes.length, this.#offset);
      this.#offset += got;
      const lines = (this.#rest + bytes.toString("latin1", 0, got)).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.apply(parseRecordLine(line));
    } finally {
      closeSync(file);
    }
  }

  /** Applies a line of the launcher. */
  apply(line: RecordLine | undefined): void {
    switch (line?.kind) {
      case "launcher":
        this.#launcher = line.launcher;
        this.#keeper = line.keeper;
        return;
      case "started": {
        if (this.isEarlier) this.runs.set(line.key, makeRun(line.key, line.slot));
        const run = this.runs.get(line.key);
        if (run === undefined || run.slot !== line.slot) return;
        run.session = line.session;
        run.startedAtMs = line.atMs;
        return;
      }
      case "unstarted":
      case "ended": {
        const run = this.runs.get(line.key);
        if (run === undefined) return;
        run.outcome = line.outcome;
        if (line.kind === "unstarted") return;
        run.endedAtMs = line.atMs;
        run.usage = line.usage;
        // Its slot may have served another run since.
        run.hasFiles = run.isStopMarked || !line.isClean || sum(line.outputBytes) > 0;
        return;
      }
      case "drained":
      case "refused":
      case undefined:
        return;
    }
  }

  markStopping(run: LoggedRun): void {
    run.isStopMarked = true;
    if (!existsSync(this.directoryOf(run))) mkdirSync(this.directoryOf(run), { mode: 0o700 });
    writeFileSync(join(this.directoryOf(run), "stopping"), "");
  }

  /** The processes that wait for the commands: either suffices. */
  get wrappers(): readonly ProcessIdentity[] {
    return [this.#launcher, this.#keeper].filter((one) => one !== undefined);
  }
}

const inodeOf = (directory: string): number | undefined =>
  statSync(directory, { throwIfNoEntry: false })?.ino;

const sum = ([stdout, stderr]: readonly [number, number]): number => stdout + stderr;

const makeRun = (key: string, slot: string): LoggedRun => ({
  key,
  slot,
  session: undefined,
  startedAtMs: undefined,
  outcome: undefined,
  endedAtMs: undefined,
  usage: undefined,
  isStopMarked: false,
  hasFiles: true,
});
