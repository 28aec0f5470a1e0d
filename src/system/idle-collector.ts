import { performance } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import type { Clock } from "../ports/clock.ts";

const LOOK_EVERY_MS = 2_000;
/** Whoever waited for the first part of a collection goes before the second. */
const SECOND_PART_MS = 200;
/** An event loop that is busier than this has better things to do. */
const BUSY_MAX = 0.05;
const GARBAGE_BYTES_MIN = 8 * 1024 ** 2;
const GARBAGE_SHARE_MIN = 0.2;
/** Of objects that must be looked at one by one: with these, giving back takes 0.1 to 0.2 s. */
const OBJECT_BYTES_MAX = 96 * 1024 ** 2;

/**
 * Gives memory back when nothing happens. V8 collects when it allocates; after a flood of
 * submissions an idle server would hold as much garbage as jobs, for as long as it stays idle.
 *
 * An ordinary collection leaves the pages with V8; the one it makes as a last resort hands them to
 * the operating system, but takes several times as long. So that is made only when few objects are
 * left. `releasedBytes` counts up with the bytes of messages that nobody holds any more: they are not
 * in V8's own heap, but only a collection frees them. Does nothing when the process was not started with --expose-gc. Returns how to end it.
 */
export function collectWhenIdle(clock: Clock, releasedBytes: () => number): () => void {
  const { gc } = globalThis;
  if (gc === undefined) return () => undefined;
  let lastUtilization = performance.eventLoopUtilization();
  let afterLast = 0;
  let releasedAtLast = 0;
  let canGiveBack = true; // what the start left goes in any case
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

/** Without the young generation: its objects come and go also in an idle process. */
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
