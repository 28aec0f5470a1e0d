import { toBinary } from "@bufbuild/protobuf";
import { WatchEventSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { WatchFormat } from "../../server/watch-format.ts";
import { frameMessage } from "../grpc/frames.ts";
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
