import { join } from "node:path";
import { NodeNames } from "./agent/executors/remote/node-names.ts";
import type { RemoteAgentOptions } from "./agent/executors/remote/run-remote-agent.ts";
import { runRemoteAgent } from "./agent/executors/remote/run-remote-agent.ts";
import { readAgentKey } from "./agent/identity.ts";
import type { ConnectLink } from "./agent/link/link.ts";
import { SERVER } from "./core/access/principal.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import type { Random } from "./ports/random.ts";
import type { RemoteShell } from "./ports/remote-shell.ts";
import type { AgentPeer } from "./server/sessions/agent-session.ts";
import type { AgentSessions } from "./server/sessions/agent-sessions.ts";

export interface GoScheduleWorkersOptions {
  /** The server's data directory. */
  readonly data: string;
  readonly sessions: AgentSessions;
  readonly onHeads?: RemoteAgentOptions["onHeads"];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Workers of go-schedule are in the default cluster, as other nodes are. */
const CLUSTER = "default";
const LABELS = { agent: "go-schedule" };
const PROGRAM = "go-schedule worker";

/** Makes a node of each worker of go-schedule that connects: its agent runs in this process. */
export function createWorkers(options: GoScheduleWorkersOptions): (shell: RemoteShell) => void {
  const { data, sessions, ...rest } = options;
  const names = new NodeNames();
  const secret = readAgentKey(join(data, "go-schedule"), options.random);
  const connect = ({ address }: RemoteShell) => connectHere(sessions, address);
  const place = { cluster: CLUSTER, labels: LABELS, program: PROGRAM };
  const own = { names, secret, connect, ...place, ...rest };
  return (shell) => void runRemoteAgent(shell, own);
}

/** An agent's stream without a wire. Messages arrive in order, and none before this has returned. */
const connectHere =
  (sessions: AgentSessions, address: string): ConnectLink =>
  (events) => {
    let isOver = false;
    const soon = (tell: () => void): void =>
      queueMicrotask(() => {
        if (!isOver) tell();
      });
    const peer: AgentPeer = {
      principal: SERVER,
      address,
      send: (message) => soon(() => events.onMessage(message)),
      close: () =>
        soon(() => {
          isOver = true;
          stream.closed();
          events.onClose("the server ended it");
        }),
    };
    const stream = sessions.open(peer);
    return {
      send: (message) => {
        if (!isOver) stream.message(message);
      },
      close() {
        if (isOver) return;
        isOver = true;
        stream.closed();
      },
    };
  };
