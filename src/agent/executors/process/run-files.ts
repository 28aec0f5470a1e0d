import { readdirSync } from "node:fs";
import { join } from "node:path";

import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ProcessIdentity } from "../../proc.ts";
import { isAlive } from "../../proc.ts";
import type { KeptOutput, KeptOutputs } from "../../runs/ledger/kept-outputs.ts";
import type { OutputSource } from "../../runs/output-reader.ts";
import type { Remover } from "../../runs/remover.ts";
import { parseRunKey } from "../../runs/run-key.ts";
import type { LaunchLogs } from "./launchers/launch-logs.ts";
import type { ProcessRun } from "./run.ts";
import type { ProcessStarter } from "./launchers/starter.ts";
import type { StateFile } from "./state-file.ts";
import {
  awaitWrappers,
  isTaken,
  markStopping,
  readStateFile,
  takeFromWrappers,
} from "./state-file.ts";

export interface RunFilesOptions {
  readonly directory: string;
  readonly starter: ProcessStarter;
  readonly logs: LaunchLogs;
  readonly remover: Remover;
}

/** The files of runs: lanes and shells write them into the run's own directory, native launchers into their records and slots. */
export class RunFiles {
  readonly #options: RunFilesOptions;

  constructor(options: RunFilesOptions) {
    this.#options = options;
  }

  /** The location of a run's files: a slot of a native launcher, until the run is dropped. */
  directoryOf(key: string): string {
    return this.#options.logs.directoryOf(key) ?? this.pathOf(key);
  }

  /** The run's own directory. */
  pathOf(key: string): string {
    return join(this.#options.directory, "runs", key);
  }

  /** Throws `not_found` for a run that is unknown and has no retained output. */
  outputOf(
    key: string,
    run: ProcessRun | undefined,
    outputs: Pick<KeptOutputs, "get" | "whyGone">,
  ): OutputSource {
    const directory = this.directoryOf(key);
    if (run !== undefined) {
      const hasEnded = run.state.kind === "ended";
      return { directory, limitBytes: run.terms.outputLimitBytes, hasEnded };
    }
    const kept = outputs.get(key);
    if (kept !== undefined) return { directory, limitBytes: kept.outputLimitBytes, hasEnded: true };
    throw new AppError("not_found", `no output of run ${key}: ${outputs.whyGone(key)}`);
  }

  /** undefined: no wrapper has claimed the run. */
  read(key: string): StateFile | undefined {
    const { logs } = this.#options;
    return logs.has(key) ? logs.read(key) : readStateFile(this.pathOf(key));
  }

  /** Claims a run that no wrapper has begun, so that none can any more. False: one has begun it. */
  takeUnbegun(key: string): boolean {
    const { logs, remover } = this.#options;
    if (!logs.has(key)) {
      if (!takeFromWrappers(this.pathOf(key))) return false;
      remover.remove(this.pathOf(key));
      return true;
    }
    const outcome = logs.read(key)?.outcome;
    if (outcome?.kind !== "not-executed" || outcome.why !== "stopped") return false;
    logs.drop(key);
    return true;
  }

  /** Orders the wrapper of a run to leave the rest of its session to the agent, and to begin no more commands. */
  markStopping(key: string): void {
    if (!this.#options.logs.markStopping(key)) markStopping(this.pathOf(key));
  }

  discard(directory: string, canBeRecycled: boolean): void {
    const { starter, remover } = this.#options;
    if (!canBeRecycled || !starter.recycle(directory)) remover.remove(directory);
  }

  /** Removes the expired output of a run. */
  discardKept(key: string, { bytes, isClean = false, isEmpty = false }: KeptOutput): void {
    if (isEmpty) return;
    this.discard(this.directoryOf(key), isClean && bytes <= limits.spareBytesMax);
  }

  /** Removes the files of a probe: it is not a run, and has no readers. */
  dropProbe(key: string): void {
    const { logs, remover } = this.#options;
    const slot = logs.directoryOf(key);
    logs.drop(key);
    for (const path of [slot, this.pathOf(key)]) if (path !== undefined) remover.remove(path);
  }

  /** Waits, with a bound, until starting wrappers have claimed these runs. */
  async awaitTaken(keys: readonly string[], clock: Clock): Promise<void> {
    const { logs } = this.#options;
    await awaitWrappers(keys, clock, (key) => {
      if (logs.isBegun(key) || isTaken(this.pathOf(key))) return true;
      logs.refresh();
      return logs.isBegun(key);
    });
  }

  /** Returns active runs that the ledger does not know; removes all other unknown files. */
  findStrays(isKnown: (key: string) => boolean): string[] {
    const { logs, remover } = this.#options;
    const strays: string[] = [];
    for (const key of readdirSync(this.pathOf(""))) {
      if (isKnown(key)) continue;
      const wrapper = parseRunKey(key) && readStateFile(this.pathOf(key))?.wrapper;
      if (wrapper !== undefined && isAlive(wrapper)) strays.push(key);
      else remover.remove(this.pathOf(key));
    }
    for (const key of Array.from(logs.keys())) {
      if (isKnown(key)) continue;
      const file = logs.read(key);
      const isAttended = file !== undefined && wrappersOf(file).some(isAlive);
      if (isAttended && file.outcome === undefined && parseRunKey(key) !== undefined) {
        strays.push(key);
      } else {
        logs.drop(key);
      }
    }
    logs.prune();
    return strays;
  }
}

/** The processes that wait for the command of a run: one of them suffices. */
export const wrappersOf = ({ wrapper, keeper }: StateFile): ProcessIdentity[] =>
  [wrapper, keeper].filter((one) => one !== undefined);
