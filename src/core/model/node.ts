import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { ClusterId, JobId, NodeId } from "./ids.ts";
import type { Texts } from "./job.ts";
import type { Resources } from "./resources.ts";

/**
 * A machine or edge of a cluster, spoken for by an agent.
 *
 *   connected <--hello / link lost--> disconnected --too long--> lost --hello--> connected
 *
 * A drain is a wish of an operator and independent of the link; so is a sickness, which the agent
 * reports: it cannot start processes and takes none until it can. When a node is lost, its tasks
 * are placed again elsewhere; when it returns, it is told to stop what it still runs of them.
 */
export interface Node {
  readonly id: NodeId;
  readonly cluster: ClusterId;
  readonly capacity: Resources;
  readonly labels: Texts;
  readonly link: NodeLink;
  readonly drain: { readonly by: string; readonly reason: string } | undefined;
  /** Why its agent cannot start processes; absent: it can. */
  readonly sickness?: Sickness;
  /** Different jobs failed here at once, one after the other; absent: nothing speaks against it. */
  readonly quarantine?: Quarantine;
  /** SHA-256 of the agent's key: the first agent to use a name owns it. */
  readonly agentKeyHash: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** Where its agent connected from when it last did, without the port; absent: not known. */
  readonly address?: string;
  readonly registeredAtMs: number;
  /** It speaks for a whole cluster that pulls: it takes tasks, none are placed on it. */
  readonly clusterAgent?: ClusterAgentTerms;
}

export interface Sickness {
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
    /** It takes one task. */
    | { readonly kind: "open" }
    /** This is the one: it shows how the node is. */
    | {
        readonly kind: "trial";
        readonly jobId: JobId;
        readonly index: number;
        readonly attempt: number;
      };
}

export const LOSS_POLICIES = ["requeue", "keep", "fail"] as const;

/** What holds between Busbar and an agent that speaks for a cluster. */
export interface ClusterAgentTerms {
  /** How long it may be away before what it took is lost; undefined: as long as any node. */
  readonly leaseMs: number | undefined;
  /**
   * What is done then with what it took: tried again, wherever it fits; kept for the agent, however
   * long it takes; or failed.
   */
  readonly onLost: (typeof LOSS_POLICIES)[number];
}

export type NodeLink =
  | { readonly kind: "connected"; readonly session: number; readonly sinceMs: number }
  | { readonly kind: "disconnected"; readonly sinceMs: number }
  | { readonly kind: "lost"; readonly sinceMs: number };

/** One word for people: what the node's link, drain and health come to. */
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

/** What the node's state is due to, for people; undefined: the state says it all. */
export const stateReason = (node: Node, state: NodeStateName): string | undefined =>
  state === "unhealthy"
    ? node.sickness?.reason
    : state === "quarantined"
      ? node.quarantine?.reason
      : undefined;

/** Whether new tasks may be placed there. */
export const isSchedulable = (node: Node): boolean =>
  node.clusterAgent === undefined && isTaking(node);

/** Whether it takes new work: what is placed on it, or, for an agent of a cluster, what it takes. */
export const isTaking = (node: Node): boolean =>
  node.link.kind === "connected" &&
  node.drain === undefined &&
  node.sickness === undefined &&
  (node.quarantine === undefined || node.quarantine.phase.kind === "open");

/** When a node that is away is lost; undefined: it is waited for, however long. */
export function lostAtMs({ link, clusterAgent }: Node, nodeLostAfterMs: number) {
  if (link.kind !== "disconnected" || clusterAgent?.onLost === "keep") return undefined;
  return link.sinceMs + (clusterAgent?.leaseMs ?? nodeLostAfterMs);
}

/** Whether what could ever run on the node stays as it is: an agent that comes back changes nothing. */
export const offersTheSame = (before: Node, after: Node): boolean =>
  before.cluster === after.cluster &&
  (before.clusterAgent === undefined) === (after.clusterAgent === undefined) &&
  isDeepEqual(before.capacity, after.capacity) &&
  isDeepEqual(before.labels, after.labels);
