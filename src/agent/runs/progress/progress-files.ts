import type { FSWatcher } from "node:fs";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  watch,
} from "node:fs";
import { join } from "node:path";

import type { ReportedProgress } from "../../../core/model/job/task-progress.ts";
import { describeChain } from "../../../lib/errors.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { steadyMs } from "../../../ports/clock.ts";
import type { RunId } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { idOf } from "../run-key.ts";
import { lastProgress } from "./progress-lines.ts";
import { removeProgressDirectory } from "./progress-leftovers.ts";

export interface ProgressFilesOptions {
  /** Of the files of all runs, and of nothing else. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the run of this key is active. */
  readonly isActive: (key: string) => boolean;
}

/** The environment variable with the path of a run's file. */
export const PROGRESS_FILE_VARIABLE = "BUSBAR_PROGRESS_FILE";

/**
 * Files in which runs report their progress, each named by the key of its run. A run that reports nothing has none. One watch of the
 * directory shows which were written; the agent reads a file at most once in a while, and a last time when its run has ended:
 * docs/design/progress.md.
 */
export class ProgressFiles {
  readonly #options: ProgressFilesOptions;
  readonly #reported = new Map<string, ReportedProgress>();
  readonly #written = new Set<string>();
  #watcher: FSWatcher | undefined;
  #isWatched = false;
  #events = 0;
  /** Some events were lost: the whole directory must be read. */
  #isIncomplete = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #cancelLook: (() => void) | undefined;
  #isClosed = false;
  #listener: (id: RunId, progress: ReportedProgress) => void = () => undefined;
  /** The number of reads of files: for tests. */
  reads = 0;

  constructor(options: ProgressFilesOptions) {
    this.#options = options;
  }

  pathOf(key: string): string {
    return join(this.#options.directory, key);
  }

  /** Called after the runs of earlier processes are known: removes files of other runs. */
  open(): void {
    try {
      makeDirectory(this.#options.directory);
    } catch (error) {
      const reason = describeChain(error);
      this.#options.logger.warn({ reason }, "tasks cannot report progress");
      return;
    }
    this.#isIncomplete = true;
    this.#look();
  }

  /** The listener receives the known progress of active runs, and then each change. */
  onProgress(listener: (id: RunId, progress: ReportedProgress) => void): void {
    this.#listener = listener;
    for (const [key, progress] of this.#reported) listener(idOf(key), progress);
  }

  /** The run has ended: its last progress. */
  ended(key: string): ReportedProgress | undefined {
    const path = this.pathOf(key);
    this.#written.delete(key);
    const known = this.#reported.get(key);
    this.#reported.delete(key);
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return known;
    const last = this.#read(key) ?? known;
    this.#remove(key);
    return last;
  }

  /** `isIdle`: no active run may write there. */
  close(isIdle: boolean): void {
    this.#isClosed = true;
    this.#unwatch();
    this.#cancelLook?.();
    if (isIdle) removeProgressDirectory(this.#options.directory);
  }

  #watch(): void {
    if (this.#isWatched) return;
    try {
      this.#watcher = watch(this.#options.directory, { persistent: false }, (_event, name) =>
        this.#onEvent(name),
      );
      this.#watcher.on("error", (error) => this.#onFailure(error));
      this.#isWatched = true;
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#isWatched = false;
  }

  #onFailure(error: unknown): void {
    this.#unwatch();
    if (this.#isClosed) return;
    const reason = describeChain(error);
    this.#options.logger.warn(
      { reason },
      "cannot watch the progress files of tasks; reading them at intervals",
    );
    this.#isIncomplete = true;
    this.#lookIn(limits.progressScanMs);
  }

  #onEvent(name: string | null): void {
    this.#events++;
    if (name === null) this.#isIncomplete = true;
    else this.#written.add(name);
    if (this.#events > limits.progressEventsPerLookMax) {
      this.#isIncomplete = true;
      this.#unwatch(); // until the next look
    }
    const dueMs = this.#lookedAtMs + limits.progressLookMs - steadyMs(this.#options.clock);
    this.#lookIn(Math.max(limits.progressSettleMs, dueMs));
  }

  #lookIn(delayMs: number): void {
    if (this.#isClosed) return;
    this.#cancelLook ??= this.#options.clock.after(delayMs, () => {
      this.#cancelLook = undefined;
      this.#look();
    });
  }

  #look(): void {
    this.#lookedAtMs = steadyMs(this.#options.clock);
    this.#events = 0;
    this.#watch(); // first, so that no later write is missed
    if (this.#isIncomplete) {
      this.#isIncomplete = !this.#isWatched;
      for (const name of this.#names()) this.#written.add(name);
    }
    let left: number = limits.progressReadsPerLookMax;
    for (const name of this.#written) {
      if (left-- === 0) break;
      this.#written.delete(name);
      this.#readAndTell(name);
    }
    if (this.#written.size > 0) this.#lookIn(limits.progressLookMs);
    else if (this.#isIncomplete) this.#lookIn(limits.progressScanMs);
  }

  #names(): string[] {
    try {
      return readdirSync(this.#options.directory);
    } catch (error) {
      // The directory was removed: runs cannot report progress until the next start of the agent.
      this.#options.logger.warn(
        { reason: describeChain(error) },
        "progress of tasks is lost until the agent restarts",
      );
      return [];
    }
  }

  #readAndTell(key: string): void {
    if (!this.#options.isActive(key)) return this.#remove(key);
    const progress = this.#read(key);
    const known = this.#reported.get(key);
    if (progress === undefined) return;
    if (progress.percent === known?.percent && progress.message === known.message) return;
    this.#reported.set(key, progress);
    this.#listener(idOf(key), progress);
  }

  /** undefined: nothing valid. Never waits, whatever kind of file a task put there. */
  #read(key: string): ReportedProgress | undefined {
    this.reads++;
    const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
    let file: number | undefined;
    try {
      file = openSync(this.pathOf(key), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
      const stats = fstatSync(file);
      if (!stats.isFile()) return undefined;
      const from = Math.max(0, stats.size - limits.progressFileBytesMax);
      const bytes = Buffer.alloc(Math.min(stats.size, limits.progressFileBytesMax));
      const length = readSync(file, bytes, 0, bytes.length, from);
      if (stats.size > limits.progressFileKeptBytesMax) ftruncateSync(file, 0);
      return lastProgress(bytes.subarray(0, length).toString("utf8"), from > 0);
    } catch {
      return undefined; // it is missing, a link, a directory, or unreadable
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  #remove(key: string): void {
    try {
      rmSync(this.pathOf(key), { force: true });
    } catch {
      // A directory of unknown origin: it is not a progress file, and is not read again.
    }
  }
}
