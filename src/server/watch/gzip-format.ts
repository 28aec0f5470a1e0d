import { gzipPiece } from "../../lib/bytes/gzip-pieces.ts";
import { limits } from "../../limits.ts";
import type { WatchFormat } from "./watch-format.ts";

/** Events as a piece of a gzip stream. Events that compression would not shrink, or that would take long, stay uncompressed inside it. */
export const gzipEvents = (events: Buffer): Buffer =>
  gzipPiece(
    events,
    events.length >= limits.watchPackBytesMin && events.length <= limits.watchPackBytesMax,
  );

/** The same events as pieces of a gzip stream (`GzipStream`), for readers that ask for it. */
export const gzipFormat = (plain: WatchFormat): WatchFormat => ({
  name: `${plain.name} gzip`,
  render(event) {
    const bytes = plain.render(event);
    return bytes.length === 0 ? bytes : gzipEvents(bytes);
  },
  packing: { from: plain, pack: gzipEvents },
});
