import { unreachable } from "../../../lib/invariant.ts";
import { describeGraphRefusal } from "../../graph/match/refusal.ts";
import { isShareResource, SHARE_RESOURCE } from "../../model/job/energy.ts";
import { formatAmount } from "../../model/resources.ts";
import type { ClusterReason } from "../clusters/cluster-reason.ts";
import type { Reason } from "../filters/reason.ts";
import { EXAMPLES_MAX } from "../nodes/node-classes.ts";
import type { DropReason } from "../../select/strategy.ts";
import type { PlacementRefusal } from "../verify.ts";
import type { ChangeStep, SingleChange } from "./cheapest-change.ts";
import type { NodeReason } from "./explain.ts";

/* Reasons as text for people. Only this file makes text of reasons, and no code reads the text. */

/** Reads well after "3 nodes: ". */
export function describeReason(reason: Reason): string {
  switch (reason.kind) {
    case "cluster-agent":
      return "the agent of a pull cluster";
    case "shares-only":
      return "is the node of a site's edges, which runs only shares of energy";
    case "pull-clusters-only":
      return "the job requests a pull cluster";
    case "other-cluster":
      return `not in cluster ${reason.asked}`;
    case "other-node":
      return `not the requested node (${reason.asked})`;
    case "other-label":
      return `label ${reason.name} is not ${reason.asked}`;
    case "no-containers":
      return `cannot start containers: ${reason.why}`;
    case "no-attach":
      return "its agent cannot pass on standard input or a terminal";
    case "instances-only":
      return "a rik worker, which runs only instances of workloads";
    case "no-file-images":
      return "a rik worker, which runs no images from files";
    case "no-functions":
      return "cannot run Functions: only rik workers can";
    case "graph":
      return reason.refusals.map(describeGraphRefusal).join("; or ");
    case "graph-unexplained":
      return `does not have the requested graph (details only for ${reason.explainedMax} kinds of nodes)`;
    case "too-small": {
      const { resource, has, asked } = reason;
      if (isShareResource(resource)) return describeNoPlace(resource);
      return `too small: has ${formatAmount(resource, has)}, ${formatAmount(resource, asked)} requested`;
    }
    case "busy": {
      const { resource, free, asked } = reason;
      if (isShareResource(resource)) return "busy with another share";
      return `busy: ${formatAmount(resource, free)} free, ${formatAmount(resource, asked)} requested`;
    }
    case "no-power":
      return "has no power now";
    case "port-taken":
      return `another instance uses port ${reason.port}`;
    case "not-ready":
      return reason.why === undefined ? reason.state : `${reason.state}: ${reason.why}`;
    default:
      return unreachable(reason);
  }
}

const describeNoPlace = (resource: string): string =>
  resource === SHARE_RESOURCE ? "has no power" : "runs only shares with a command";

export interface NodeReasonText {
  readonly reason: string;
  readonly never: boolean;
  readonly nodes: number;
  /** Names of some of them. */
  readonly examples: readonly string[];
}

/** The reason of the most nodes first. Amounts that round to the same text are one reason. */
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

/** The most informative first. */
export const describeClusterReasons = (reasons: readonly ClusterReason[]): readonly string[] =>
  reasons.flatMap(describeClusterReason);

function describeClusterReason(reason: ClusterReason): readonly string[] {
  switch (reason.kind) {
    case "other-cluster":
      return [`not the requested cluster (${reason.asked})`];
    case "managed-only":
      return ["the job requests nodes with agents"];
    case "not-asked-for":
      return ["runs only jobs that name it or request parts of a graph"];
    case "node-or-labels-asked":
      return ["the job requests a node or labels, and a pull cluster chooses its nodes itself"];
    case "energy-asked":
      return [
        "the job requests energy, which is split over nodes with power: a site gets its shares as a node of cluster sites",
      ];
    case "containers-asked":
      return ["the job requests an image, and only nodes with agents start containers"];
    case "attach-asked":
      return [
        "the job requests standard input or a terminal, and only nodes with agents pass it on",
      ];
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
  const text = step === undefined ? "none found" : describeStep(step);
  if (limits.length === 0) return text;
  const all = limits.map((limit) =>
    limit.kind === "node-kinds"
      ? "too many kinds of nodes to try every change"
      : `the ends of only ${limit.triedMax} running tasks were tried`,
  );
  return `${text} (${all.join("; ")})`;
}

function describeStep(step: ChangeStep): string {
  switch (step.kind) {
    case "task-ends":
      return `none: it fits when task ${step.task} on node ${step.node} ends`;
    case "undrain":
      return `undrain node ${step.node}: busbar nodes undrain ${step.node}`;
    case "repair":
      return `repair node ${step.node}: ${step.why}`;
    case "bring-back":
      return `reconnect node ${step.node}, which is ${step.link}`;
    case "cluster-state":
      return `another state of cluster ${step.cluster}: ${describeClusterReasons(step.reasons).join("; ")}`;
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

/** Why `verify` refused a placement. */
export function describeRefusal(refusal: PlacementRefusal): string {
  switch (refusal.kind) {
    case "job-unknown":
      return "there is no such job";
    case "job-closed":
      return `the job is ${refusal.state}`;
    case "job-waits":
      return "the job waits for its dependencies";
    case "task-unknown":
      return "the job has no such task";
    case "task-placed":
      return `task is ${refusal.state} already`;
    case "task-on-hold":
      return "the task is on hold";
    case "array-full":
      return `its array is at its limit of ${refusal.tasksAtOnce} tasks at once`;
    case "group-paused":
      return "its group is paused";
    case "group-full":
      return `its group is at its limit of ${refusal.runningTasksMax} running tasks`;
    case "node-unknown":
      return `there is no node ${refusal.node}`;
    case "node-refuses":
      return `node ${refusal.node}: ${describeReason(refusal.reason)}`;
    case "node-holds-none":
      return `node ${refusal.node} does not hold tasks ahead`;
    case "graph-not-held":
      return "tasks that request parts of a graph are not held ahead";
    case "share-not-held":
      return "shares of energy are not held ahead";
    case "too-much-energy":
      return `${refusal.asked} Ws are more than the ${refusal.left} Ws that are left of the job`;
    case "wrong-share":
      return `node ${refusal.node}: a share of ${refusal.wattSeconds} Ws does not fit`;
    case "cluster-unknown":
      return `there is no pull cluster ${refusal.cluster}`;
    case "cluster-refuses":
      return `cluster ${refusal.cluster}: ${describeClusterReasons(refusal.reasons).join("; ")}`;
    default:
      return unreachable(refusal);
  }
}
