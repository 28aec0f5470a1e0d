import { toBinary } from "@bufbuild/protobuf";
import { WatchEventSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { WatchFormat } from "../../../server/watch/watch-format.ts";
import { frameMessage } from "../../../lib/grpc/frames.ts";
import { batchFrames, gzipFrames } from "./packed-frames.ts";
import { toWatchEvent } from "./translate-fleet.ts";

/** Events as messages of gRPC. */
export const WATCH_FRAMES: WatchFormat = {
  name: "grpc",
  render(event) {
    const message = toBinary(WatchEventSchema, toWatchEvent(event));
    if (message.length <= limits.messageBytesMax) return frameMessage(message);
    throw new AppError(
      "exhausted",
      `an event of revision ${event.revision} has ${message.length} bytes, more than the ` +
        `${limits.messageBytesMax} of one message; watch without that job, or through REST`,
    );
  },
};

const WATCH_BATCHES: WatchFormat = {
  name: "grpc batches",
  render: (event) => WATCH_FRAMES.render(event),
  packing: { from: WATCH_FRAMES, pack: batchFrames },
};

const gzipped = (name: string, from: WatchFormat): WatchFormat => ({
  name,
  render: (event) => gzipFrames(from.render(event)),
  packing: { from, pack: gzipFrames },
});
const WATCH_FRAMES_GZIP = gzipped("grpc gzip", WATCH_FRAMES);
const WATCH_BATCHES_GZIP = gzipped("grpc batches gzip", WATCH_BATCHES);

/** The format for a client that accepts batches, or messages compressed with gzip, or both. */
export function watchFormat(takes: {
  readonly batches: boolean;
  readonly gzip: boolean;
}): WatchFormat {
  if (takes.batches) return takes.gzip ? WATCH_BATCHES_GZIP : WATCH_BATCHES;
  return takes.gzip ? WATCH_FRAMES_GZIP : WATCH_FRAMES;
}
