import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import type { ClusterId, JobId, NodeId } from "../ids.ts";
import type { Texts } from "../job/job.ts";
import type { Resources } from "../resources.ts";
import type { Power } from "./power.ts";

/**
 * A machine or edge of a cluster, with an agent.
 *
 *   connected <--hello / link lost--> disconnected --too long--> lost --hello--> connected
 *
 * A drain is a setting of an operator and independent of the connection. So is the health that the
 * agent reports: an unhealthy node cannot start processes and gets none until it can. The loss policy
 * decides about the tasks of a lost node: by default they are placed again elsewhere, and when the node
 * returns, it stops those that still run.
 */
export interface Node {
  readonly id: NodeId;
  readonly cluster: ClusterId;
  readonly capacity: Resources;
  readonly labels: Texts;
  readonly link: NodeLink;
  readonly drain: { readonly by: string; readonly reason: string } | undefined;
  /** Why its agent cannot start processes; absent: it can. */
  readonly sickness?: HealthProblem;
  /** Different jobs failed here at once, one after the other; absent: there is no evidence against it. */
  readonly quarantine?: Quarantine;
  /** SHA-256 of the agent's key: the first agent with a name owns the name. */
  readonly agentKeyHash: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** The address from which its agent last connected, without the port; absent: not known. */
  readonly address?: string;
  readonly registeredAtMs: number;
  /** How far its agent's clock is ahead of the server's, if the difference is large; below zero: behind. */
  readonly clockOffsetMs?: number;
  /** Its agent can hold tasks beyond its free capacity and begin them by itself. */
  readonly canHold?: true;
  /** Its agent can connect tasks to a client's standard input or terminal. */
  readonly canAttach?: true;
  /** A worker of rik: it starts instances of workloads of any kind, and nothing else. */
  readonly instancesOnly?: true;
  /**
   * Its power for shares of jobs with energy; absent: it accepts none. Its capacity then includes one
   * share.
   */
  readonly power?: Power;
  /** Its agent is the agent of a whole pull cluster: it accepts tasks, and the planner places none on it. */
  readonly clusterAgent?: ClusterAgentTerms;
  /** As its agent sets it (`busbar agent --on-lost`); absent: it does not. */
  readonly loss?: LossTerms;
  /** As an operator sets it (`busbar nodes set`), which overrides its agent; absent: none does. */
  readonly setLoss?: LossTerms;
  /** Who last drained, undrained or set it; absent: nobody, or a server before 0.2 did not record it. */
  readonly changedBy?: string;
}

export interface HealthProblem {
  readonly reason: string;
  readonly sinceMs: number;
}

export interface Quarantine {
  readonly reason: string;
  readonly sinceMs: number;
  /** How often tasks failed here at once, in rows and in trials, from 1: each doubles the wait. */
  readonly strikes: number;
  readonly phase:
    | { readonly kind: "closed"; readonly untilMs: number }
    /** It may get one task. */
    | { readonly kind: "open" }
    /** The one task that it got: its outcome decides. */
    | {
        readonly kind: "trial";
        readonly jobId: JobId;
        readonly index: number;
        readonly attempt: number;
      };
}

export const LOSS_POLICIES = ["requeue", "keep", "fail"] as const;

/**
 * The outcome of tasks of a lost node: placed again, wherever they fit; kept for the node, however long
 * it is away; or failed without another attempt.
 */
export type LossPolicy = (typeof LOSS_POLICIES)[number];

/** How long an agent may be disconnected; 0: the default of the server. */
export const AWAY_RULE = {
  anyOf: [{ const: 0 }, { minimum: limits.leaseMsMin, maximum: limits.durationMsMax }],
  hint: `a time in milliseconds from ${limits.leaseMsMin} to ${limits.durationMsMax} (366 days)`,
} as const satisfies Rule;

/** For settings of operators, which override those of the agent. */
export const SET_NODE_RULES = {
  onLost: { enum: [...LOSS_POLICIES, "agent"] },
  lostAfterMs: AWAY_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

/** When a disconnected node counts as lost, and the outcome of its tasks then. */
export interface LossTerms {
  readonly lostAfterMs?: number;
  readonly onLost?: LossPolicy;
}

/** The terms between Busbar and the agent of a cluster. */
export interface ClusterAgentTerms {
  /** How long it may be disconnected before its accepted tasks are lost; undefined: as long as any node. */
  readonly leaseMs: number | undefined;
  readonly onLost: LossPolicy;
}

/**
 * `sinceMs` of a disconnected node: the last sign of life of its agent. `withServer`: it has not connected since the server was
 * restarted, which is the likely cause of whatever it lost.
 */
export type NodeLink =
  | { readonly kind: "connected"; readonly session: number; readonly sinceMs: number }
  | { readonly kind: "disconnected"; readonly sinceMs: number; readonly withServer?: true }
  | { readonly kind: "lost"; readonly sinceMs: number };

/** One word for display: the combination of the node's connection, drain and health. */
export type NodeStateName =
  | "connected"
  | "disconnected"
  | "draining"
  | "drained"
  | "lost"
  | "unhealthy"
  | "quarantined";

export function nodeStateName(node: Node, activeTasks: number): NodeStateName {
  if (node.link.kind !== "connected") return node.link.kind;
  if (node.drain !== undefined) return activeTasks > 0 ? "draining" : "drained";
  if (node.sickness !== undefined) return "unhealthy";
  return node.quarantine === undefined ? "connected" : "quarantined";
}

/** The cause of the node's state, for display; undefined: the state says enough. */
export const stateReason = (node: Node, state: NodeStateName): string | undefined =>
  state === "unhealthy"
    ? node.sickness?.reason
    : state === "quarantined"
      ? node.quarantine?.reason
      : undefined;

/** Whether new tasks may be placed there. */
export const isSchedulable = (node: Node): boolean =>
  node.clusterAgent === undefined && acceptsTasks(node);

/** Whether it accepts new tasks: placed ones, or, for an agent of a cluster, offered ones. */
export const acceptsTasks = (node: Node): boolean =>
  node.link.kind === "connected" &&
  node.drain === undefined &&
  node.sickness === undefined &&
  (node.quarantine === undefined || node.quarantine.phase.kind === "open");

/** Whether tasks may be fetched ahead to it. A suspect node gets one task at a time. */
export const mayHold = (node: Node): boolean =>
  node.canHold === true && isSchedulable(node) && node.quarantine === undefined;

/** The operator's setting overrides the agent's; without either, tasks are placed again elsewhere. */
export const lossPolicyOf = ({ loss, setLoss, clusterAgent }: Node): LossPolicy =>
  setLoss?.onLost ?? clusterAgent?.onLost ?? loss?.onLost ?? "requeue";

/** How long the node may be disconnected; undefined: the default of the server. */
export const lostAfterMsOf = ({ loss, setLoss, clusterAgent }: Node): number | undefined =>
  setLoss?.lostAfterMs ?? clusterAgent?.leaseMs ?? loss?.lostAfterMs;

/** The time at which a disconnected node is lost: counted from its last sign of life. */
export function lostAtMs(node: Node, nodeLostAfterMs: number): number | undefined {
  if (node.link.kind !== "disconnected") return undefined;
  return node.link.sinceMs + (lostAfterMsOf(node) ?? nodeLostAfterMs);
}

/** Whether the same requests stay satisfiable on the node: an agent that reconnects changes nothing. */
export const offersTheSame = (before: Node, after: Node): boolean =>
  before.cluster === after.cluster &&
  (before.clusterAgent === undefined) === (after.clusterAgent === undefined) &&
  (before.power?.site === undefined) === (after.power?.site === undefined) &&
  isDeepEqual(before.capacity, after.capacity) &&
  isDeepEqual(before.labels, after.labels);
