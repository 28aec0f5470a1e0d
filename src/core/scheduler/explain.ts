import { formatAmount } from "../model/resources.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { Verdict } from "./filters/filter.ts";
import { filters } from "./filters/all.ts";
import type { Request } from "./request.ts";

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

const EXAMPLES_MAX = 3;

/** What every node says to a request: which filter refuses it, and whether waiting can help. */
export function outlook(request: Request, nodes: Iterable<NodeRecord>): Outlook {
  const byReason = new Map<string, { never: boolean; names: string[]; count: number }>();
  let now = 0;
  let later = 0;
  let all = 0;
  for (const record of nodes) {
    all++;
    const verdict = judge(request, record);
    if (verdict.kind === "yes") {
      now++;
      continue;
    }
    if (verdict.kind === "not-now") later++;
    const key = `${verdict.kind}:${verdict.reason}`;
    const known = byReason.get(key) ?? { never: verdict.kind === "never", names: [], count: 0 };
    known.count++;
    if (known.names.length < EXAMPLES_MAX) known.names.push(record.node.id);
    byReason.set(key, known);
  }
  const reasons = [...byReason].map(([key, { never, names, count }]) => ({
    reason: key.slice(key.indexOf(":") + 1),
    never,
    nodes: count,
    examples: names,
  }));
  reasons.sort((a, b) => b.nodes - a.nodes || (a.reason < b.reason ? -1 : 1));
  return { now, later, nodes: all, reasons };
}

/** The first refusal; one that can never change is worth more than one that can. */
export function judge(request: Request, record: NodeRecord): Verdict {
  let notNow: Verdict | undefined;
  for (const filter of filters) {
    const verdict = filter.check(request, record);
    if (verdict.kind === "never") return verdict;
    if (verdict.kind === "not-now") notNow ??= verdict;
  }
  return notNow ?? { kind: "yes" };
}

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
  if (refused("disconnected") || refused("lost")) {
    hints.push("bring back nodes that are disconnected or lost");
  }
  return hints;
}
