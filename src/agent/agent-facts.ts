import type { LinkTimes } from "../core/model/node/heartbeat.ts";
import type { LossPolicy, LossTerms } from "../core/model/node/node.ts";
import type { Power } from "../core/model/node/power.ts";
import type { TakeCapacity } from "../core/model/node/take-capacity.ts";

/** Who the agent is and what it has: the same in every session. */
export interface AgentFacts {
  readonly name: string;
  readonly cluster: string;
  readonly agentKey: string;
  readonly bootId: string;
  readonly version: string;
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** What the machine has, as JSON of NodeFacts; the newest each time it is asked. */
  readonly machineFacts?: () => string;
  /** When the node is lost, and what becomes of its tasks then; what is left out the server says. */
  readonly loss?: LossTerms | undefined;
  /** Of the link to the server; what is left out the server says. */
  readonly linkTimes?: LinkTimes | undefined;
  /** That outputs may use, in a second; left out: what the link carries. */
  readonly bandwidthBytes?: number | undefined;
  /** What its executor knows of a run is final after a restart: unbegun runs may go elsewhere. */
  readonly canHold?: boolean;
  /** Its executor gives runs a client's standard input or terminal. */
  readonly canAttach?: boolean;
  /** What it has for shares of jobs with energy; the newest each time it is asked. */
  readonly power?: () => Power;
  /** Of an agent of a node: its executor hands jobs on to another Busbar. */
  readonly wantsJobSpec?: boolean;
  /** It speaks for a whole cluster that pulls. */
  readonly clusterAgent?: ClusterAgentFacts;
}

export interface ClusterAgentFacts {
  /** How long it may be away before what it took is lost; 0: the server's own time. */
  readonly leaseMs: number;
  readonly onLost: LossPolicy;
  /** Its executor hands jobs on to another Busbar. */
  readonly wantsJobSpec?: boolean;
  /** What it would take now; the newest each time it is asked. */
  readonly room: () => TakeCapacity;
}
