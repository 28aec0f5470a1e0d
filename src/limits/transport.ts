import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Connections and the bytes that are under way on them. */
export const transportLimits = {
  messageBytesMax: 4 * MIB,
  unpackAtOnceBytesMax: 4 * KIB, // of a compressed message that is unpacked without a thread
  unpackingsAtOnceMax: 2, // in threads: what comes out is charged when it is there
  documentBytesMax: 64 * MIB, // of a message or body that is a graph, and of answers about many clusters
  connectionsMax: 25_000, // of one listener
  listenBacklogMax: 16_384, // connections not accepted yet; the kernel allows net.core.somaxconn
  httpKeepAliveMs: 72_000, // for the next request on a connection; longer than proxies keep theirs
  headersReceiveMsMax: 10_000, // for the headers of an HTTP request to arrive
  requestReceiveMsMax: 60_000, // for a request to arrive completely
  smallMessageBytesMax: 64 * KIB, // a request up to this size never waits for a larger one
  smallRequestBytesTotalMax: 64 * MIB, // of small requests and the beginnings of large ones
  smallRequestBytesPerConnectionMax: 16 * MIB,
  largeRequestBytesTotalMax: 192 * MIB, // of large requests, as large as they announce themselves
  largeRequestBytesPerConnectionMax: 128 * MIB,
  openRequestBytes: 4 * KIB, // memory of a request that has begun, beside its bytes
  requestsWaitingMax: 256, // for room; each holds up to 128 KiB meanwhile
  requestStallMs: 2_000, // while others wait, a large request must grow in this time by:
  requestProgressBytesMin: 128 * KIB,
  refusedRequestMsMax: 1_000, // for a caller to end a request that was answered already
  answerBytesTotalMax: 256 * MIB, // of answers and messages that peers have not read
  answerBytesPerConnectionMax: 128 * MIB,
  grpcStreamsPerConnectionMax: 1_000,
  healthWatchesMax: 1_000, // of one listener
  healthWatchesPerConnectionMax: 100,
  reflectionNameCharsMax: 1_000, // of a host, symbol or file in a request; the answer repeats it
  grpcSessionBytesMax: 256 * MIB, // of one connection, in the hands of HTTP/2
  http2HeaderTableBytes: 4_096, // that clients may let a server remember of their headers; HTTP/2's default
  userPartHeaderBytesMax: 16 * KIB, // of the headers of one call, where user parts of URLs are read
  userPartBytesPerTurnMax: 1 * MIB, // of rewritten headers, before other connections have their turn
  grpcKeepaliveIntervalMs: 30_000, // without a byte until the server pings; clients' pings are always answered
  grpcKeepaliveTimeoutMs: 10_000,
  tcpKeepaliveIdleMs: 10_000, // then Node lets the kernel try ten times, a second apart
  clientKeepaliveMs: 20_000, // until a client with a call under way pings
  clientAnswersWaitingMax: 64, // messages of a stream that its reader has not taken yet
  firstByteMsMax: 10_000, // of a connection that may be encrypted or not
  streamQueueMessagesMax: 10_000, // for a peer of a two-way stream that does not read
  streamQueueBytesMax: 64 * MIB,
  drainMsMax: 5_000, // from asking streams to end to closing their connections
} as const;

invariant(
  transportLimits.healthWatchesPerConnectionMax < transportLimits.healthWatchesMax,
  "one connection must not have all health watches",
);
