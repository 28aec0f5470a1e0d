import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Connection, dial } from "../../client/grpc/connection.ts";
import { openCall } from "../../client/grpc/open-call.ts";
import type { ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { AgentMessageSchema, Agents, ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { isOtherProtocol } from "../../client/status.ts";
import { GRPC_PORT, parseAddress, REST_PORT } from "../../lib/address.ts";
import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { ConnectLink, Link, LinkEvents } from "./link.ts";

const PATH = `/${Agents.typeName}/${Agents.method.session.name}`;

/** Throws on bytes that are not a message. */
export const decodeServerMessage = (bytes: Uint8Array): ServerMessage =>
  fromBinary(ServerMessageSchema, bytes);

/** Links to `server` ("host:port") over gRPC without TLS. Heartbeats detect a dead link. */
export function createGrpcConnect(server: string): ConnectLink {
  return (events) => {
    // Each link has its own connection: the session decides when to connect again.
    const connection = dial(parseAddress(server, "server"));
    return openLink(connection, events, () => connection.close());
  };
}

function reasonOf(error: Error | undefined): string {
  if (error === undefined) return "the server ended the session";
  // The call repeats its cause.
  if (!isOtherProtocol(error.cause)) return describeChain(error.cause ?? error);
  return `it answers, but not with gRPC; agents connect to the gRPC port (${GRPC_PORT}), not to REST (${REST_PORT})`;
}

/** A link on a connection; `release` is called once, when the link no longer needs it. */
export function openLink(connection: Connection, events: LinkEvents, release: () => void): Link {
  let isOver = false;
  const finish = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    release();
    events.onClose(reason);
  };
  const start = { path: PATH, bytesMax: limits.messageBytesMax };
  const call = openCall(connection, start, {
    onMessage: (bytes) => {
      if (!isOver) events.onMessage(decodeServerMessage(bytes));
    },
    onEnd: (error) => finish(reasonOf(error)),
  });
  return {
    send: (message) => {
      if (!isOver) call.send(toBinary(AgentMessageSchema, message));
    },
    close: () => {
      if (isOver) return;
      isOver = true;
      call.finish();
      release();
    },
    bytesReceived: () => connection.bytesReceived(),
  };
}
