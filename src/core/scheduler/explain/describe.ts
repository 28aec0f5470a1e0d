import { unreachable } from "../../../lib/invariant.ts";
import { describeGraphRefusal } from "../../graph/match/refusal.ts";
import { isPlaceName, SHARE_PLACE } from "../../model/job/energy.ts";
import { formatAmount } from "../../model/resources.ts";
import type { ClusterReason } from "../clusters/cluster-reason.ts";
import type { Reason } from "../filters/reason.ts";
import { EXAMPLES_MAX } from "../nodes/node-classes.ts";
import type { DropReason } from "../../select/strategy.ts";
import type { PlacementRefusal } from "../verify.ts";
import type { ChangeStep, SingleChange } from "./cheapest-change.ts";
import type { NodeReason } from "./explain.ts";

/*
 * Reasons as text for people. Nothing else in the core makes text of a reason, and nothing reads it.
 */

/** Reads well after "3 nodes: ". */
export function describeReason(reason: Reason): string {
  switch (reason.kind) {
    case "cluster-agent":
      return "the agent of a pull cluster";
    case "shares-only":
      return "stands for the edges of a site, and takes shares of energy only";
    case "pull-clusters-only":
      return "only pull clusters are asked for";
    case "other-cluster":
      return `not in cluster ${reason.asked}`;
    case "other-node":
      return `not the node asked for (${reason.asked})`;
    case "other-label":
      return `label ${reason.name} is not ${reason.asked}`;
    case "no-containers":
      return `cannot start containers: ${reason.why}`;
    case "no-attach":
      return "its agent takes neither standard input nor a terminal";
    case "instances-only":
      return "a worker of rik, which starts instances of workloads only";
    case "no-functions":
      return "starts no Functions: only workers of rik do";
    case "graph":
      return reason.refusals.map(describeGraphRefusal).join("; or ");
    case "graph-unexplained":
      return `does not have the graph asked for (${reason.explainedMax} kinds of nodes are explained)`;
    case "too-small": {
      const { resource, has, asked } = reason;
      if (isPlaceName(resource)) return describeNoPlace(resource);
      return `too small: has ${formatAmount(resource, has)}, ${formatAmount(resource, asked)} asked`;
    }
    case "busy": {
      const { resource, free, asked } = reason;
      if (isPlaceName(resource)) return "busy: works at another share";
      return `busy: ${formatAmount(resource, free)} free, ${formatAmount(resource, asked)} asked`;
    }
    case "no-power":
      return "has no power now";
    case "not-ready":
      return reason.why === undefined ? reason.state : `${reason.state}: ${reason.why}`;
    default:
      return unreachable(reason);
  }
}

const describeNoPlace = (resource: string): string =>
  resource === SHARE_PLACE ? "has no power" : "takes no shares without a command";

export interface NodeReasonText {
  readonly reason: string;
  readonly never: boolean;
  readonly nodes: number;
  /** Names of some of them. */
  readonly examples: readonly string[];
}

/** Those of most nodes first. Amounts that are rounded to the same text are one reason. */
export function describeNodeReasons(reasons: readonly NodeReason[]): readonly NodeReasonText[] {
  const texts = reasons.map((each) => ({ ...each, text: describeReason(each.reason) }));
  const alike = Map.groupBy(texts, ({ text, never }) => `${never} ${text}`);
  return [...alike.values()]
    .map((same) => ({
      reason: same[0]?.text ?? "",
      never: same[0]?.never ?? false,
      nodes: same.reduce((sum, { nodes }) => sum + nodes, 0),
      examples: same
        .flatMap(({ examples }) => examples)
        .sort((a, b) => a.at - b.at)
        .slice(0, EXAMPLES_MAX)
        .map(({ name }) => name),
    }))
    .sort((a, b) => b.nodes - a.nodes || (a.reason < b.reason ? -1 : 1));
}

/** "3 nodes: busy". */
const countedReasons = (reasons: readonly NodeReason[]): readonly string[] =>
  describeNodeReasons(reasons).map(
    ({ reason, nodes }) => `${nodes === 1 ? "1 node" : `${nodes} nodes`}: ${reason}`,
  );

/** The most telling first. */
export const describeClusterReasons = (reasons: readonly ClusterReason[]): readonly string[] =>
  reasons.flatMap(describeClusterReason);

function describeClusterReason(reason: ClusterReason): readonly string[] {
  switch (reason.kind) {
    case "other-cluster":
      return [`not the cluster asked for (${reason.asked})`];
    case "managed-only":
      return ["only nodes with agents are asked for"];
    case "not-asked-for":
      return ["takes jobs that ask for it, or that ask for parts of a graph"];
    case "node-or-labels-asked":
      return ["a node or labels are asked for, and its nodes are its own business"];
    case "energy-asked":
      return [
        "energy is asked for, and is split over nodes with power: a site takes its shares as a node of cluster sites",
      ];
    case "containers-asked":
      return ["an image is asked for, and only nodes with agents start containers"];
    case "attach-asked":
      return ["standard input or a terminal is asked for, and only nodes with agents take it"];
    case "graph":
      return reason.refusals.map(describeGraphRefusal);
    case "no-nodes":
      return ["has no nodes"];
    case "nodes":
      return countedReasons(reason.reasons);
    case "dropped":
      return [describeDrop(reason.reason)];
    default:
      return unreachable(reason);
  }
}

export const describeDrop = ({ priority, expression, problem }: DropReason): string =>
  `priority ${priority}: ${expression}: ${problem}`;

export function describeChange({ step, limits }: SingleChange): string {
  const text = step === undefined ? "none was found" : describeStep(step);
  if (limits.length === 0) return text;
  const all = limits.map((limit) =>
    limit.kind === "node-kinds"
      ? "there are too many kinds of nodes to try every change"
      : `of tasks under way the ends of ${limit.triedMax} were tried`,
  );
  return `${text} (${all.join("; ")})`;
}

function describeStep(step: ChangeStep): string {
  switch (step.kind) {
    case "task-ends":
      return `none: it starts when task ${step.task} on node ${step.node} ends`;
    case "undrain":
      return `undrain node ${step.node}: busbar nodes undrain ${step.node}`;
    case "bring-back":
      return `bring back node ${step.node}, which is ${step.link}`;
    case "cluster-state":
      return `the state of cluster ${step.cluster}: ${describeClusterReasons(step.reasons).join("; ")}`;
    case "less": {
      const { resource, free, asked, node } = step;
      const instead = `ask for ${formatAmount(resource, free)} instead of ${formatAmount(resource, asked)}`;
      return `${instead}: node ${node} has that free`;
    }
    case "less-of-graph": {
      const { count, asked, type, unit = "" } = step;
      const space = unit === "" ? "" : ` ${unit}`;
      return `ask for ${count}${space} instead of ${asked}${space} of ${type}`;
    }
    case "any-node":
      return `do not ask for node ${step.asked}`;
    case "any-cluster":
      return `do not ask for cluster ${step.asked}`;
    case "any-kind":
      return `do not ask for ${step.asked} clusters only`;
    case "any-label":
      return `do not ask for label ${step.name}=${step.asked}`;
    case "without-requirement":
      return `do not require ${step.requirement} of the ${step.type}`;
    default:
      return unreachable(step);
  }
}

/** Why the judge refused a placement. */
export function describeRefusal(refusal: PlacementRefusal): string {
  switch (refusal.kind) {
    case "job-unknown":
      return "there is no such job";
    case "job-closed":
      return `the job is ${refusal.state}`;
    case "job-waits":
      return "the job waits for others";
    case "task-unknown":
      return "the job has no such task";
    case "task-placed":
      return `task is ${refusal.state} already`;
    case "task-on-hold":
      return "the task is on hold";
    case "array-full":
      return `as many tasks of its array are under way as may be at once (${refusal.tasksAtOnce})`;
    case "group-paused":
      return "its group is paused";
    case "group-full":
      return `its group runs as many tasks as it may (${refusal.runningTasksMax})`;
    case "node-unknown":
      return `there is no node ${refusal.node}`;
    case "node-refuses":
      return `node ${refusal.node}: ${describeReason(refusal.reason)}`;
    case "node-holds-none":
      return `node ${refusal.node} holds no tasks`;
    case "graph-not-held":
      return "tasks that request parts of a graph are not held";
    case "share-not-held":
      return "shares of energy are not held";
    case "too-much-energy":
      return `${refusal.asked} Ws are more than what is left of the job, ${refusal.left} Ws`;
    case "wrong-share":
      return `node ${refusal.node}: not with a share of ${refusal.wattSeconds} Ws`;
    case "cluster-unknown":
      return `there is no cluster ${refusal.cluster} that pulls`;
    case "cluster-refuses":
      return `cluster ${refusal.cluster}: ${describeClusterReasons(refusal.reasons).join("; ")}`;
    default:
      return unreachable(refusal);
  }
}
