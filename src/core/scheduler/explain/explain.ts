import { formatAmount } from "../../model/resources.ts";
import { YES } from "../filters/filter.ts";
import { EXAMPLES_MAX, type NodeClass, type NodeClasses } from "../nodes/node-classes.ts";
import type { Request } from "../request.ts";

export interface NodeReason {
  readonly reason: string;
  readonly never: boolean;
  readonly nodes: number;
  /** Names of some of them. */
  readonly examples: readonly string[];
}

export interface Outlook {
  /** Nodes that could take one task now, those that could later, all. */
  readonly now: number;
  readonly later: number;
  readonly nodes: number;
  readonly reasons: readonly NodeReason[];
}

/** What every node says to a request: which filter refuses it, and whether waiting can help. */
export function outlook(
  request: Request,
  nodes: NodeClasses,
  /** Which classes to look at, by their numbers. */
  numbers: Iterable<number> = nodes.all.keys(),
): Outlook {
  const byReason = new Map<string, { never: boolean; examples: Example[]; count: number }>();
  let now = 0;
  let later = 0;
  let all = 0;
  const verdicts = nodes.verdicts(request);
  for (const at of numbers) {
    const { count, examples } = nodes.all[at] as NodeClass;
    const verdict = verdicts[at] ?? YES;
    all += count;
    if (verdict.kind === "yes") {
      now += count;
      continue;
    }
    if (verdict.kind === "not-now") later += count;
    const key = `${verdict.kind}:${verdict.reason}`;
    const known = byReason.get(key);
    if (known === undefined) {
      byReason.set(key, { never: verdict.kind === "never", examples: [...examples], count });
    } else {
      known.count += count;
      known.examples = firstOf(known.examples, examples);
    }
  }
  const reasons = [...byReason].map(([key, { never, examples, count }]) => ({
    reason: key.slice(key.indexOf(":") + 1),
    never,
    nodes: count,
    examples: examples.map(({ name }) => name),
  }));
  reasons.sort((a, b) => b.nodes - a.nodes || (a.reason < b.reason ? -1 : 1));
  return { now, later, nodes: all, reasons };
}

type Example = NodeClass["examples"][number];

const firstOf = (some: readonly Example[], others: readonly Example[]): Example[] =>
  [...some, ...others].sort((a, b) => a.at - b.at).slice(0, EXAMPLES_MAX);

/** What a person could do about it. */
export function hintsFor({ needs, where }: Request, seen: Outlook): string[] {
  if (seen.nodes === 0) {
    return ["start an agent: busbar agent --server ADDRESS --name NAME"];
  }
  const hints: string[] = [];
  const refused = (text: string): boolean =>
    seen.reasons.some(({ reason }) => reason.includes(text));
  if (seen.now === 0 && seen.later === 0) {
    if (refused("too small")) {
      const asked = Object.keys(needs).map((name) => formatAmount(name, needs[name] ?? 0));
      hints.push(`ask for less than ${asked.join(", ")}, or add a node that has as much`);
    }
    if (
      where.cluster !== undefined ||
      where.node !== undefined ||
      where.labels !== undefined ||
      where.kind !== undefined
    ) {
      hints.push("check the placement asked for: cluster, node and labels must match a node");
    }
  }
  if (refused("busy")) hints.push("wait for running tasks to end, or add nodes");
  if (refused("draining") || refused("drained")) {
    hints.push("undrain a node: busbar nodes undrain NAME");
  }
  if (refused("unhealthy")) {
    hints.push("mend the machines of unhealthy nodes; they take tasks again by themselves");
  }
  if (refused("quarantined")) {
    hints.push("look why jobs fail on quarantined nodes; busbar nodes undrain NAME uses one again");
  }
  if (refused("disconnected") || refused("lost")) {
    hints.push("bring back nodes that are disconnected or lost");
  }
  return hints;
}
