import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { WatchBatchSchema, WatchEventSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { frameMessage, messagesOf } from "../../../lib/grpc/frames.ts";

const EVENTS = WatchBatchSchema.field.events.number;
const REVISION = WatchEventSchema.field.revision.number;
const BATCH = WatchEventSchema.field.batch.number;

/**
 * The events of some frames as one message. Messages are compressed one by one, and a single event is too small for that. Frames larger
 * than a block stay unchanged: a message has a limit.
 */
export function batchFrames(frames: Buffer, revision: number): Buffer {
  if (frames.length > limits.watchPackBytesMax) return frames;
  const events = [...messagesOf(frames)];
  if (events.length === 1) return frames;
  const batch = new BinaryWriter();
  for (const event of events) batch.tag(EVENTS, WireType.LengthDelimited).bytes(event);
  const whole = new BinaryWriter()
    .tag(REVISION, WireType.Varint)
    .int64(revision)
    .tag(BATCH, WireType.LengthDelimited)
    .bytes(batch.finish());
  return frameMessage(whole.finish());
}

/** The same frames; those larger than an ordinary event are compressed. */
export function gzipFrames(frames: Buffer): Buffer {
  if (frames.length < limits.watchPackBytesMin) return frames;
  const parts: Buffer[] = [];
  let isSmaller = false;
  for (const message of messagesOf(frames)) {
    const packed = gzipMessage(message);
    if (packed !== undefined) isSmaller = true;
    parts.push(packed ?? frameMessage(message));
  }
  return isSmaller ? Buffer.concat(parts) : frames;
}

/** Undefined: compression would gain nothing, or occupy this thread for too long. */
function gzipMessage(message: Buffer): Buffer | undefined {
  if (message.length < limits.watchPackBytesMin || message.length > limits.watchPackBytesMax) {
    return undefined;
  }
  const packed = gzipSync(message, { level: 1 });
  return packed.length < message.length ? frameMessage(packed, true) : undefined;
}
