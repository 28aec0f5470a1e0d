import { GRPC } from "../../../lib/grpc/status-codes.ts";
import { HeaderList } from "../http2/header-list.ts";
import type { GrpcStatus } from "../status.ts";

/** Of every answer with messages. */
export const HEAD = new HeaderList({
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "identity,deflate,gzip",
});
export const GZIP_HEAD = HEAD.with({ "grpc-encoding": "gzip" });
export const OK_TRAILERS = new HeaderList({ "grpc-status": GRPC.OK, "grpc-message": "OK" });
export const DEADLINE_EXCEEDED: GrpcStatus = {
  code: GRPC.DEADLINE_EXCEEDED,
  details: "Deadline exceeded",
  metadata: {},
};

export const toTrailers = ({ code, details, metadata }: GrpcStatus) => ({
  "grpc-status": code,
  "grpc-message": encodeURI(details),
  ...metadata,
});
