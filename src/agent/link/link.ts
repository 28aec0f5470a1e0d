import type { AgentMessage, ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";

/** The agent's end of one stream to the server; gRPC in production, a simulated one in tests. */
export interface Link {
  /** Messages arrive in order or not at all. After the end it does nothing. */
  send(message: AgentMessage): void;
  /** Ends the stream after all sent messages; no event follows. */
  close(): void;
  /** Bytes received so far, of messages that are not complete, too. Absent: only messages are seen. */
  bytesReceived?(): number;
}

export interface LinkEvents {
  onMessage(message: ServerMessage): void;
  /** Called once, when the stream ends and we did not close it: `reason` is for the log. */
  onClose(reason: string): void;
}

/** Dials. Never throws, and no event comes before it returned: failure is a close. */
export type ConnectLink = (events: LinkEvents) => Link;
