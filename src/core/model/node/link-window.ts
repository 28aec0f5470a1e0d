import { BulkWindow } from "../../../lib/collections/bulk-window.ts";
import { limits } from "../../../limits.ts";

/** How much may be under way on a link between an agent and the server, in one direction. */
export const createLinkWindow = (): BulkWindow =>
  new BulkWindow({
    bytesMin: limits.linkWindowBytesMin,
    bytesStart: limits.linkWindowBytes,
    bytesMax: limits.linkWindowBytesMax,
    queueMs: limits.linkQueueMs,
    roundTripMsMax: limits.linkRoundTripMsMax,
  });

/** On a thin link several are under way, so that it is busy while the first mark returns. */
export function partBytesOf({ bytes, isThin }: BulkWindow): number {
  const part = Math.floor(isThin ? bytes / 4 : bytes);
  return Math.min(limits.linkPartBytesMax, Math.max(limits.linkPartBytesMin, part));
}
