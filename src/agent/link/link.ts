import type { AgentMessage, ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";

/** The agent's end of one stream to the server; gRPC in production, a simulated one in tests. */
export interface Link {
  /** Messages arrive in order or not at all. After the end it does nothing. */
  send(message: AgentMessage): void;
  /** Ends the stream after all sent messages; no event follows. */
  close(): void;
  /** Bytes received so far, including those of incomplete messages. Absent: only messages count. */
  bytesReceived?(): number;
}

export interface LinkEvents {
  onMessage(message: ServerMessage): void;
  /** Called once, when the stream ends and this end did not close it: `reason` is for the log. */
  onClose(reason: string): void;
}

/** Connects. Never throws, and sends no event before it returns: a failure is a close. */
export type ConnectLink = (events: LinkEvents) => Link;
