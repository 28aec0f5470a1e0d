import { limits } from "../../../limits.ts";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { gunzipSync } from "node:zlib";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { WatchRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { frameMessage, MessageReader } from "../../../lib/grpc/frames.ts";

export interface RawFrame {
  readonly isPacked: boolean;
  /** Decompressed. */
  readonly message: Buffer;
}

/** A watch over plain HTTP/2, which shows the bytes of each message. */
export function openFrames(
  address: string,
  request: MessageInitShape<typeof WatchRequestSchema>,
  accepts: string | undefined,
) {
  const session = connect(`http://${address}`);
  const stream = session.request({
    ":method": "POST",
    ":path": "/busbar.v1.Busbar/Watch",
    "content-type": "application/grpc",
    te: "trailers",
    ...(accepts === undefined ? {} : { "grpc-accept-encoding": accepts }),
  });
  stream.on("error", () => undefined);
  stream.end(frameMessage(toBinary(WatchRequestSchema, create(WatchRequestSchema, request))));
  const frames: RawFrame[] = [];
  const reader = new MessageReader(limits.messageBytesMax);
  let headers: IncomingHttpHeaders = {};
  let bytes = 0;
  stream.on("response", (head) => (headers = head));
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    reader.push(chunk);
    for (let message = reader.next(); message !== undefined; message = reader.next()) {
      const { isPacked } = reader;
      frames.push({ isPacked, message: Buffer.from(isPacked ? gunzipSync(message) : message) });
    }
  });
  return {
    frames,
    headers: () => headers,
    /** Bytes on the wire, without the frames of HTTP/2. */
    bytes: () => bytes,
    close: () => session.destroy(),
  };
}
