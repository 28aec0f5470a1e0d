import { limits } from "../../../limits.ts";
import type { Executor, QueuedRuns } from "../../../ports/executor.ts";
import { toWireId } from "../../translate.ts";

interface WireGroup {
  readonly reason: string;
  readonly runs: ReturnType<typeof toWireId>[];
}

/**
 * Sends the server the reasons why runs are queued at a scheduler below: all of them, when any changes.
 * Called with each heartbeat, so that a queue that moves costs at most one message per heartbeat.
 */
export class QueueTeller {
  readonly #executor: Pick<Executor, "whyQueued">;
  readonly #tell: (groups: readonly WireGroup[]) => void;
  #sent = "[]";
  #isWanted = false;

  constructor(executor: Pick<Executor, "whyQueued">, tell: (groups: readonly WireGroup[]) => void) {
    this.#executor = executor;
    this.#tell = tell;
  }

  /** Older servers do not ask for it. */
  welcomed(isWanted: boolean): void {
    this.#isWanted = isWanted;
  }

  tellChanges(): void {
    if (!this.#isWanted || this.#executor.whyQueued === undefined) return;
    const queued = bounded(this.#executor.whyQueued());
    const text = JSON.stringify(queued);
    if (text === this.#sent) return;
    this.#sent = text;
    this.#tell(queued.map(({ reason, runs }) => ({ reason, runs: runs.map(toWireId) })));
  }
}

/** The first of them. */
function bounded(queued: readonly QueuedRuns[]): readonly QueuedRuns[] {
  let left: number = limits.queuedRunsToldMax;
  return queued.slice(0, limits.queueReasonsToldMax).flatMap(({ reason, runs }) => {
    const some = runs.slice(0, left);
    left -= some.length;
    return some.length === 0
      ? []
      : [{ reason: reason.slice(0, limits.reasonLengthMax), runs: some }];
  });
}
