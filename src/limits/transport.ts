import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Connections and the bytes under way on them. */
export const transportLimits = {
  messageBytesMax: 4 * MIB,
  unpackAtOnceBytesMax: 4 * KIB, // of a compressed message that the server unpacks without a thread
  unpackingsAtOnceMax: 2, // in threads: the unpacked bytes are charged when they are there
  documentBytesMax: 64 * MIB, // of a message or body with a graph, and of answers about many clusters
  connectionsMax: 25_000, // of one listener
  connectionsGuaranteed: 128, // of one listener, whatever callers of others do; fewer where the process may have few file descriptors
  descriptorsReserved: 256, // of the process, for files, children and connections to others
  listenBacklogMax: 16_384, // connections not accepted yet; the kernel allows net.core.somaxconn
  httpKeepAliveMs: 72_000, // until the next request on a connection; longer than proxies keep theirs
  headersReceiveMsMax: 10_000, // for the headers of an HTTP request to arrive
  requestReceiveMsMax: 60_000, // for a request to arrive completely
  smallMessageBytesMax: 64 * KIB, // a request up to this size never waits for a larger one
  smallRequestBytesTotalMax: 64 * MIB, // of small requests and of the beginnings of large ones
  smallRequestBytesPerConnectionMax: 16 * MIB,
  largeRequestBytesTotalMax: 192 * MIB, // of large requests, by their announced size
  largeRequestBytesPerConnectionMax: 128 * MIB,
  openRequestBytes: 4 * KIB, // memory of an open request, in addition to its bytes
  requestsWaitingMax: 256, // for memory; each holds up to 128 KiB meanwhile
  requestStallMs: 2_000, // while others wait, a large request must grow in this time by:
  requestProgressBytesMin: 128 * KIB,
  refusedRequestMsMax: 1_000, // for a caller to end a request that the server has answered already
  answerBytesTotalMax: 256 * MIB, // of answers and messages that peers have not read
  answerBytesPerConnectionMax: 128 * MIB,
  grpcStreamsPerConnectionMax: 1_000,
  healthWatchesMax: 1_000, // of one listener
  healthWatchesPerConnectionMax: 100,
  reflectionNameCharsMax: 1_000, // of a host, symbol or file in a request; the answer repeats it
  grpcSessionBytesMax: 256 * MIB, // of one connection, buffered by HTTP/2
  grpcKeepaliveIntervalMs: 30_000, // without a byte until the server pings; it always answers pings of clients
  grpcKeepaliveTimeoutMs: 10_000,
  tcpKeepaliveIdleMs: 10_000, // after that Node makes the kernel probe ten times, a second apart
  clientKeepaliveMs: 20_000, // until a client with an open call pings
  answerHeaderBytesMax: 64 * KIB, // of headers or trailers of one answer
  leanWindowBytes: 1 * MIB, // that a server may send before the command line has read them
  messageDepthMax: 100, // messages inside of messages of an answer
  clientAnswersWaitingMax: 64, // messages of a stream that its reader has not read yet
  firstByteMsMax: 10_000, // of a connection with or without TLS
  streamQueueMessagesMax: 10_000, // for a peer of a bidirectional stream that does not read
  streamQueueBytesMax: 64 * MIB,
  drainMsMax: 5_000, // from the request that streams end to the close of their connections
} as const;

invariant(
  transportLimits.healthWatchesPerConnectionMax < transportLimits.healthWatchesMax,
  "one connection must not have all health watches",
);

/** Connections without TLS, whose HTTP/2 is our own (docs/design/grpc-server.md). Of one connection, unless stated otherwise. */
export const http2Limits = {
  http2HeaderTableBytes: 4_096, // of headers that a client may make the server remember; the default of HTTP/2
  http2HeaderBytesMax: 64 * KIB, // of the headers of one call, packed and unpacked
  http2HeaderFieldsMax: 128, // in the headers of one call
  http2ContinuationsMax: 16, // CONTINUATION frames of the headers of one call
  http2PrefaceMsMax: 10_000, // for the first frame of a client to arrive
  http2WindowBytes: 65_535, // that a client may send before the server has read them; the default of HTTP/2
  http2UnreadBytesMax: 16 * MIB, // of calls that are paused; beyond this the whole connection waits
  http2WorkPerTurnMax: 512, // frames, before other connections have their turn
  http2CallWork: 16, // the headers of a call count as so many frames
  http2ControlFramesMax: 10_000, // frames that carry nothing of a call, at once and:
  http2ControlFramesPerSecond: 2_000,
  http2ControlFramesPerCall: 4, // that each ended call allows in addition
  http2ControlFramesPerData: 2, // that each frame with bytes of a call allows in addition
  http2WindowUpdateBytesMin: 1 * KIB, // a smaller window update counts as a frame that carries nothing, a larger one as a quarter of one
  http2ResetsMax: 1_000, // calls that a client cancels, or makes the server reset, at once and:
  http2ResetsPerSecond: 100,
  http2ControlQueuedMax: 1_000, // answers to pings, settings and wrong frames that a client has not read
  http2WriteBytesMax: 128 * KIB, // given to a socket at once
  http2CopyBytesMax: 2 * KIB, // of a message that is copied to be sent with others
  http2UnsentBytes: 64 * KIB, // of one call, until its source has to wait
  http2PingAnswersMs: 10, // from answers to pings of a client to the next ones
  http2PingsHeldMax: 64, // pings that wait for that; more are answered at once
  http2PingsMax: 16, // of the server that a client has not answered
  http2LingerMsMax: 1_000, // for a client to close a connection that the server has ended
  http2ResetIdsKept: 128, // calls that the server has reset, whose later frames it ignores
} as const;

invariant(
  http2Limits.http2HeaderTableBytes < http2Limits.http2HeaderBytesMax,
  "the headers of a call must be able to use the whole table",
);
invariant(
  http2Limits.http2CallWork < http2Limits.http2WorkPerTurnMax,
  "a turn must be able to open several calls",
);
invariant(
  http2Limits.http2WindowBytes < http2Limits.http2UnreadBytesMax,
  "one paused call must not stop its connection",
);
invariant(
  http2Limits.http2WorkPerTurnMax < http2Limits.http2ControlQueuedMax,
  "the answers of one turn must fit what may wait for a client",
);
invariant(
  http2Limits.http2CopyBytesMax < http2Limits.http2WriteBytesMax,
  "a copied message must fit a write",
);
invariant(
  http2Limits.http2ResetsMax >= transportLimits.grpcStreamsPerConnectionMax,
  "a client must be able to cancel all of its calls at once",
);
