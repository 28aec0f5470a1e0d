import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import type { ClusterId, JobId, NodeId } from "../ids.ts";
import type { Texts } from "../job/job.ts";
import type { Resources } from "../resources.ts";
import type { Power } from "./power.ts";

/**
 * A machine or edge of a cluster, spoken for by an agent.
 *
 *   connected <--hello / link lost--> disconnected --too long--> lost --hello--> connected
 *
 * A drain is a wish of an operator and independent of the link; so is a sickness, which the agent
 * reports: it cannot start processes and takes none until it can. What becomes of the tasks of a
 * lost node is its loss policy: by default they are placed again elsewhere, and when the node
 * returns, it stops what it still runs of them.
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
  /** How far its agent's clock is ahead of the server's, when that is much; below zero: behind. */
  readonly clockOffsetMs?: number;
  /** Its agent can hold tasks beyond its free capacity and begin them by itself. */
  readonly canHold?: true;
  /** Its agent can give tasks a client's standard input or terminal. */
  readonly canAttach?: true;
  /** A worker of rik: it starts instances of workloads of any kind, and nothing else. */
  readonly instancesOnly?: true;
  /** Its power for shares of jobs with energy; absent: it accepts none. Its capacity has a place for one. */
  readonly power?: Power;
  /** Its agent is the agent of a whole pull cluster: it accepts tasks, and the planner places none on it. */
  readonly clusterAgent?: ClusterAgentTerms;
  /** As its agent asks (`busbar agent --on-lost`); absent: nothing was asked. */
  readonly loss?: LossTerms;
  /** As an operator set them (`busbar nodes set`), over its agent's; absent: nothing was set. */
  readonly setLoss?: LossTerms;
  /** Who last drained, undrained or set it; absent: nobody, or a server before 0.2 did not note it. */
  readonly changedBy?: string;
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

/**
 * What becomes of the tasks of a lost node: tried again, wherever they fit; kept for the node, however
 * long it takes; or failed without another attempt.
 */
export type LossPolicy = (typeof LOSS_POLICIES)[number];

/** Of how long an agent may be away; 0: as long as the server allows any. */
export const AWAY_RULE = {
  anyOf: [{ const: 0 }, { minimum: limits.leaseMsMin, maximum: limits.durationMsMax }],
  hint: `a time in milliseconds from ${limits.leaseMsMin} to ${limits.durationMsMax} (366 days)`,
} as const satisfies Rule;

/** Of what operators set over what its agent asks. */
export const SET_NODE_RULES = {
  onLost: { enum: [...LOSS_POLICIES, "agent"] },
  lostAfterMs: AWAY_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

/** When a node that is away counts as lost, and what becomes of its tasks then. */
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

/** `sinceMs` of one that is away: when its agent was last heard. */
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

/** Whether it accepts new tasks: placed ones, or, for an agent of a cluster, offered ones. */
export const isTaking = (node: Node): boolean =>
  node.link.kind === "connected" &&
  node.drain === undefined &&
  node.sickness === undefined &&
  (node.quarantine === undefined || node.quarantine.phase.kind === "open");

/** Whether tasks may be fetched ahead to it. A node in doubt gets one task at a time. */
export const mayHold = (node: Node): boolean =>
  node.canHold === true && isSchedulable(node) && node.quarantine === undefined;

/** An operator's word counts before the agent's; without either tasks are tried again elsewhere. */
export const lossPolicyOf = ({ loss, setLoss, clusterAgent }: Node): LossPolicy =>
  setLoss?.onLost ?? clusterAgent?.onLost ?? loss?.onLost ?? "requeue";

/** How long the node may be away; undefined: as long as the server allows any node. */
export const lostAfterMsOf = ({ loss, setLoss, clusterAgent }: Node): number | undefined =>
  setLoss?.lostAfterMs ?? clusterAgent?.leaseMs ?? loss?.lostAfterMs;

/** When a node that is away is lost: counted from the last sign of life. */
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
