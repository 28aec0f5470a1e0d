import type { Clock } from "../../../ports/clock.ts";
import type { Executor, RunId } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { runKey } from "../../runs/run-key.ts";
import type { RemotePlace } from "./commands.ts";
import { readRemoteOutput } from "./read-output.ts";
import { RemoteRuns } from "./remote-runs.ts";
import type { RunFile } from "./run-file.ts";

export interface RemoteExecutorOptions {
  readonly shell: RemoteShell;
  readonly place: RemotePlace;
  /** One word that is different for each link. */
  readonly link: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds?: KeptBounds;
  /** The beginning of the output of an ended run. Not called for a run whose end came without it: after a lost answer, or a stop. */
  readonly onHeads?: (id: RunId, heads: RunFile["heads"]) => void;
}

/**
 * Runs work on a machine through a worker of another product (see RemoteShell). All durable data is on that machine's disk (see
 * run-scripts.ts): a new executor over another link finds it there. Nothing depends on the worker's reports: the executor polls runs that
 * have sent none for a while.
 */
export async function createRemoteExecutor(options: RemoteExecutorOptions): Promise<Executor> {
  const runs = new RemoteRuns(options);
  await runs.recover();
  const { shell, place } = options;
  return {
    name: "remote",
    start: (request) => runs.start(request),
    stop: (id) => runs.stop(id),
    forget: (id) => runs.forget(id),
    known: () => runs.known(),
    queued: () => [], // started runs begin at once
    ahead: {
      hold: (request) => runs.hold(request),
      next: (ended) => runs.next(ended),
      release: (id) => runs.release(id),
    },
    async readOutput(id, stream, how) {
      if (runs.hasNothingThere(id)) return { data: new Uint8Array(), eof: true, truncated: false };
      const query = { stream, isActive: runs.isActive(id), ...how };
      return readRemoteOutput({ shell, place }, runKey(id), query);
    },
    onReport: (listener) => runs.onReport(listener),
    probe: () => runs.probe(),
    close: () => runs.close(),
  };
}
