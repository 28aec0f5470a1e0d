import { Agents } from "../../../gen/busbar/v1/agent_pb.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";
import { defineService, type GrpcService } from "../../grpc/service.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import type { Traffic } from "../../grpc/traffic.ts";

/** The service of Busbar's own agents: each stream is a session. */
export const agentService = (
  sessions: AgentSessions,
  logger: Logger,
  traffic?: Traffic,
): GrpcService =>
  defineService(
    Agents,
    {
      session: (peer) =>
        sessions.open({
          principal: peer.context.principal,
          address: addressOf(peer.context.peer),
          bytesReceived: () => peer.bytesReceived,
          send: (message) => peer.send(message),
          close: (error) => (error === undefined ? peer.close() : peer.fail(error)),
        }),
    },
    { logger, traffic },
  );
