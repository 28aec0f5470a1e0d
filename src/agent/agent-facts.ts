import type { LinkTimes } from "../core/model/node/heartbeat.ts";
import type { LossPolicy, LossTerms } from "../core/model/node/node.ts";
import type { Power } from "../core/model/node/power.ts";
import type { TakeCapacity } from "../core/model/node/take-capacity.ts";

/** The agent's identity and offered capacity: the same in every session. */
export interface AgentFacts {
  readonly name: string;
  readonly cluster: string;
  readonly agentKey: string;
  readonly bootId: string;
  readonly version: string;
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The facts of the machine, as JSON of NodeFacts; each call returns the newest. */
  readonly machineFacts?: () => string;
  /** When the server counts the node as lost, and what happens to its tasks then. The server fills in absent fields. */
  readonly loss?: LossTerms | undefined;
  /** Times of the link to the server. The server fills in absent fields. */
  readonly linkTimes?: LinkTimes | undefined;
  /** Bytes per second that outputs may use; absent: all that the link carries. */
  readonly bandwidthBytes?: number | undefined;
  /** After a restart the executor's knowledge of a run is final: runs that have not begun may be placed elsewhere. */
  readonly canHold?: boolean;
  /** Its executor can connect a client's standard input or terminal to a run. */
  readonly canAttach?: boolean;
  /** The node's power for shares of jobs with energy; each call returns the newest. */
  readonly power?: () => Power;
  /** For the agent of a node: its executor submits jobs to another Busbar. */
  readonly wantsJobSpec?: boolean;
  /** Present on the agent of a whole pull cluster. */
  readonly clusterAgent?: ClusterAgentFacts;
}

export interface ClusterAgentFacts {
  /** How long the agent may be away before its accepted tasks are lost; 0: the server's default. */
  readonly leaseMs: number;
  readonly onLost: LossPolicy;
  /** Its executor submits jobs to another Busbar. */
  readonly wantsJobSpec?: boolean;
  /** The capacity that the agent would accept now; each call returns the newest. */
  readonly room: () => TakeCapacity;
}
