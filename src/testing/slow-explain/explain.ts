import type { Outlook } from "../../core/scheduler/explain/explain.ts";
import type { NodeRecord } from "../../core/state/nodes/node-record.ts";
import type { Verdict } from "../../core/scheduler/filters/filter.ts";
import { filters } from "../../core/scheduler/filters/all.ts";
import type { Request } from "../../core/scheduler/request.ts";

const EXAMPLES_MAX = 3;

/** By node, not by class: slow, and simple enough to be the reference. What every node says to a request: which filter refuses it, and whether waiting can help. */
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
