import { BulkWindow } from "../../../lib/collections/bulk-window.ts";
import { limits } from "../../../limits.ts";

/** How many bytes may be in flight between an agent and the server, in one direction. */
export const createLinkWindow = (): BulkWindow =>
  new BulkWindow({
    bytesMin: limits.linkWindowBytesMin,
    bytesStart: limits.linkWindowBytes,
    bytesMax: limits.linkWindowBytesMax,
    queueMs: limits.linkQueueMs,
    roundTripMsMax: limits.linkRoundTripMsMax,
  });

/** On a slow connection several parts are in flight, so that it is busy while the first mark returns. */
export function partBytesOf({ bytes, isThin }: BulkWindow): number {
  const part = Math.floor(isThin ? bytes / 4 : bytes);
  return Math.min(limits.linkPartBytesMax, Math.max(limits.linkPartBytesMin, part));
}
