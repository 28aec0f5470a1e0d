import { isShareResource, isShareRequest } from "../../model/job/energy.ts";
import { formatAmount } from "../../model/resources.ts";
import type { Reason } from "../filters/reason.ts";
import {
  type Example,
  EXAMPLES_MAX,
  type NodeClass,
  type NodeClasses,
} from "../nodes/node-classes.ts";
import type { Request } from "../request.ts";

/** Nodes that are rejected for the same reason. */
export interface NodeReason {
  readonly reason: Reason;
  readonly never: boolean;
  readonly nodes: number;
  /** The first few of them, with their positions in the order of all nodes. */
  readonly examples: readonly Example[];
}

export interface Outlook {
  /** Numbers of nodes: those that could take one task now, those that could later, all. */
  readonly now: number;
  readonly later: number;
  readonly nodes: number;
  readonly reasons: readonly NodeReason[];
}

/** The answer of every node to a request: the filter that rejects the node, and whether waiting can help. */
export function outlook(
  request: Request,
  nodes: NodeClasses,
  /** The classes to check, by number. */
  numbers: Iterable<number> = nodes.all.keys(),
): Outlook {
  const byReason = new Map<string, NodeReason>();
  let now = 0;
  let later = 0;
  let all = 0;
  const verdicts = nodes.verdicts(request);
  for (const at of numbers) {
    const { count, examples } = nodes.all[at] as NodeClass;
    const verdict = verdicts[at];
    all += count;
    if (verdict === undefined || verdict.kind === "yes") {
      now += count;
      continue;
    }
    if (verdict.kind === "not-now") later += count;
    const key = JSON.stringify(verdict);
    const known = byReason.get(key);
    byReason.set(key, {
      reason: verdict.reason,
      never: verdict.kind === "never",
      nodes: (known?.nodes ?? 0) + count,
      examples: known === undefined ? examples : firstOf(known.examples, examples),
    });
  }
  return { now, later, nodes: all, reasons: [...byReason.values()] };
}

const firstOf = (some: readonly Example[], others: readonly Example[]): readonly Example[] =>
  [...some, ...others].sort((a, b) => a.at - b.at).slice(0, EXAMPLES_MAX);

/** Advice for the user. */
export function hintsFor({ needs, where }: Request, seen: Outlook): string[] {
  if (seen.nodes === 0) {
    return ["start an agent: busbar agent --server ADDRESS --name NAME"];
  }
  const hints: string[] = [];
  const kinds = new Set(seen.reasons.map(({ reason }) => reason.kind));
  const states = new Set(
    seen.reasons.map(({ reason }) => (reason.kind === "not-ready" ? reason.state : undefined)),
  );
  if (seen.now === 0 && seen.later === 0) {
    if (kinds.has("too-small")) {
      const amounts = Object.keys(needs).filter((name) => !isShareResource(name));
      const asked = amounts.map((name) => formatAmount(name, needs[name] ?? 0)).join(", ");
      if (asked !== "") hints.push(`request less than ${asked}, or add a node that has as much`);
      if (isShareRequest(needs)) hints.push("add a node with power: busbar agent --power 100W");
    }
    if (
      where.cluster !== undefined ||
      where.node !== undefined ||
      where.labels !== undefined ||
      (where.kind !== undefined && where.kind !== "any")
    ) {
      hints.push("check the requested placement: cluster, node and labels must match a node");
    }
  }
  if (kinds.has("busy")) hints.push("wait for running tasks to end, or add nodes");
  if (states.has("draining") || states.has("drained")) {
    hints.push("undrain a node: busbar nodes undrain NAME");
  }
  if (states.has("unhealthy")) {
    hints.push("repair the unhealthy nodes; they get tasks again by themselves");
  }
  if (states.has("quarantined")) {
    hints.push(
      "find out why jobs fail on the quarantined nodes, then use them again: busbar nodes undrain NAME",
    );
  }
  if (states.has("disconnected") || states.has("lost")) {
    hints.push("start the agents of disconnected or lost nodes again");
  }
  return hints;
}
