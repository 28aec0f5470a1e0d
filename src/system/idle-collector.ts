import { performance } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import type { Clock } from "../ports/clock.ts";

const LOOK_EVERY_MS = 2_000;
/** Work that waited for the first part of a collection runs before the second. */
const SECOND_PART_MS = 200;
/** An event loop that is busier than this has more important work. */
const BUSY_MAX = 0.05;
const GARBAGE_BYTES_MIN = 8 * 1024 ** 2;
const GARBAGE_SHARE_MIN = 0.2;
/** The number of objects that the collector visits one by one: with these, returning memory takes 0.1 to 0.2 s. */
const OBJECT_BYTES_MAX = 96 * 1024 ** 2;

/**
 * Returns memory to the system when the process is idle. V8 collects when it allocates; after a flood of submissions an idle server would
 * hold as much garbage as jobs, for as long as it stays idle.
 *
 * An ordinary collection leaves the pages with V8. V8's last-resort collection returns them to the operating system, but takes several
 * times as long, so it runs only when few objects are left. `releasedBytes` grows by the bytes of released messages: they are not in V8's
 * own heap, but only a collection frees them. Does nothing when the process was started without --expose-gc. Returns a function that ends
 * it.
 */
export function collectWhenIdle(clock: Clock, releasedBytes: () => number): () => void {
  const { gc } = globalThis;
  if (gc === undefined) return () => undefined;
  let lastUtilization = performance.eventLoopUtilization();
  let afterLast = 0;
  let releasedAtLast = 0;
  let canGiveBack = true; // garbage of the start is collected in any case
  let cancel = (): void => undefined;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(now, lastUtilization).utilization;
    const { kept, objects } = heapBytes();
    let nextMs = LOOK_EVERY_MS;
    const hasGrown =
      kept - afterLast > Math.max(GARBAGE_BYTES_MIN, GARBAGE_SHARE_MIN * afterLast) ||
      releasedBytes() - releasedAtLast > GARBAGE_BYTES_MIN;
    if (busy < BUSY_MAX && (hasGrown || canGiveBack)) {
      const few = objects <= OBJECT_BYTES_MAX;
      if (few) gc({ type: "major", execution: "sync", flavor: "last-resort" });
      else gc();
      const left = heapBytes();
      afterLast = left.kept;
      releasedAtLast = releasedBytes();
      canGiveBack = !few && left.objects <= OBJECT_BYTES_MAX;
      if (canGiveBack) nextMs = SECOND_PART_MS;
    }
    lastUtilization = performance.eventLoopUtilization();
    cancel = clock.after(nextMs, look);
  };
  cancel = clock.after(LOOK_EVERY_MS, look);
  return () => cancel();
}

/** Excludes the young generation: its objects change even in an idle process. */
function heapBytes(): { readonly kept: number; readonly objects: number } {
  let kept = 0;
  let objects = 0;
  for (const { space_name: name, space_used_size: bytes } of getHeapSpaceStatistics()) {
    if (name.startsWith("new_")) continue;
    kept += bytes;
    if (name === "old_space") objects = bytes;
  }
  return { kept, objects };
}
