import { authorise, type Permission } from "../../core/access/authorise.ts";
import type { AgentPrincipal } from "../../core/access/principal.ts";
import type { AgentMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError } from "../../lib/errors.ts";

/** The messages after Hello. */
type Said = Exclude<AgentMessage["message"]["case"], "hello" | undefined>;

/** Total by type: a message does not compile until it names the permission that it needs. */
const NEEDS: Readonly<Record<Said, Permission>> = {
  heartbeat: "agents.report",
  reports: "agents.report",
  output: "agents.report",
  attachment: "agents.report",
  facts: "agents.report",
  health: "agents.report",
  clock: "agents.report",
  queued: "agents.report",
  progress: "agents.report",
  power: "agents.report",
  mark: "agents.report",
  markSeen: "agents.report",
  take: "tasks.pull",
};

/** The node and the cluster of a session. */
export interface SessionPlace {
  readonly node: string;
  readonly cluster: string;
}

/**
 * Throws `permission_denied` unless the agent may send this message. An agent has no permissions until the key in
 * its Hello has proven that the node is its own.
 */
export function authoriseMessage(
  principal: AgentPrincipal | undefined,
  said: Said,
  { node, cluster }: SessionPlace,
): void {
  if (principal === undefined) {
    throw new AppError("permission_denied", `${said} came before node ${node} was welcomed`);
  }
  const permission = NEEDS[said];
  authorise(principal, permission, () =>
    permission === "tasks.pull"
      ? { kind: "clusters", names: [cluster] }
      : { kind: "node", name: node },
  );
}
