import { performance } from "node:perf_hooks";
import type { Clock } from "../ports/clock.ts";

const LOOK_EVERY_MS = 2_000;
/** An event loop that is busier than this has better things to do. */
const BUSY_MAX = 0.05;
const GARBAGE_BYTES_MIN = 16 * 1024 ** 2;
const GARBAGE_SHARE_MIN = 0.2;
/** Up to here giving memory back pauses the server for a tenth of a second or two. */
const HEAP_BYTES_MAX = 512 * 1024 ** 2;

/**
 * Gives memory back when nothing happens. V8 collects when it allocates; after a flood of
 * submissions an idle server would hold as much garbage as jobs, for as long as it stays idle.
 * Does nothing when the process was not started with --expose-gc. Returns how to end it.
 */
export function collectWhenIdle(clock: Clock): () => void {
  const { gc } = globalThis;
  if (gc === undefined) return () => undefined;
  let lastUtilization = performance.eventLoopUtilization();
  let afterLast = Number.NEGATIVE_INFINITY; // what the start left goes in any case
  let cancel = (): void => undefined;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(now, lastUtilization).utilization;
    const { heapUsed } = process.memoryUsage();
    const grown = heapUsed - afterLast;
    if (busy < BUSY_MAX && grown > Math.max(GARBAGE_BYTES_MIN, GARBAGE_SHARE_MIN * afterLast)) {
      // Only this flavor hands pages back to the system. It takes several collections, each of
      // which looks at every object there is: not worth the pause when there are very many.
      if (heapUsed > HEAP_BYTES_MAX) gc();
      else gc({ type: "major", execution: "sync", flavor: "last-resort" });
      afterLast = process.memoryUsage().heapUsed;
    }
    lastUtilization = performance.eventLoopUtilization();
    cancel = clock.after(LOOK_EVERY_MS, look);
  };
  cancel = clock.after(LOOK_EVERY_MS, look);
  return () => cancel();
}
