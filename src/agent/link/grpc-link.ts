import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ChannelCredentials, ClientDuplexStream } from "@grpc/grpc-js";
import { Client, credentials } from "@grpc/grpc-js";

import type { AgentMessage, ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { AgentMessageSchema, Agents, ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { ConnectLink, LinkEvents } from "./link.ts";

const PATH = `/${Agents.typeName}/${Agents.method.session.name}`;

const serialize = (message: AgentMessage): Buffer => {
  const bytes = toBinary(AgentMessageSchema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/** Throws on bytes that are no message; grpc-js turns that into the end of the stream. */
export const deserializeServerMessage = (bytes: Buffer): ServerMessage =>
  fromBinary(ServerMessageSchema, bytes);

/** Links to `server` ("host:port") over gRPC without TLS. Heartbeats find out when the link is dead. */
export function createGrpcConnect(server: string): ConnectLink {
  return (events) => {
    // A client of its own for each dial: when to try again is ours to say, not the channel's.
    let socket: { readonly bytesRead: number } | undefined;
    const client = new Client(
      server,
      insecure((opened) => (socket = opened)),
      {
        "grpc.use_local_subchannel_pool": 1,
        "grpc.max_receive_message_length": limits.messageBytesMax,
        "grpc.max_send_message_length": limits.messageBytesMax,
      },
    );
    const stream = client.makeBidiStreamRequest(PATH, serialize, deserializeServerMessage);
    const end = listen(stream, events, () => client.close());
    return {
      send: (message) => {
        if (stream.writable) stream.write(message);
      },
      close() {
        end();
        if (stream.writable) stream.end();
        else stream.cancel();
        client.close(); // lets the stream finish first
      },
      bytesReceived: () => socket?.bytesRead ?? 0,
    };
  };
}

/** Without TLS. grpc-js shows its sockets to credentials alone, which are to encrypt them. */
function insecure(onSocket: (socket: { readonly bytesRead: number }) => void): ChannelCredentials {
  const plain = credentials.createInsecure();
  const createConnector = plain._createSecureConnector.bind(plain);
  plain._createSecureConnector = (...args) => {
    const connector = createConnector(...args);
    return {
      ...connector,
      connect: (socket) => {
        onSocket(socket);
        return connector.connect(socket);
      },
    };
  };
  return plain;
}

/** Returns what makes it deaf: after that neither messages nor the end are passed on. */
function listen(
  stream: ClientDuplexStream<AgentMessage, ServerMessage>,
  events: LinkEvents,
  release: () => void,
): () => void {
  let isOver = false;
  const finish = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    release();
    events.onClose(reason);
  };
  stream.on("data", (message: ServerMessage) => {
    if (!isOver) events.onMessage(message);
  });
  stream.on("error", (error: unknown) => finish(describeChain(error)));
  stream.on("end", () => finish("the server ended the session"));
  return () => {
    isOver = true;
  };
}
