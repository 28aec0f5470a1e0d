import type { NodeReason, Outlook } from "../../../src/core/scheduler/explain/explain.ts";
import type { FilterChain } from "../../../src/core/scheduler/filters/chain.ts";
import type { FilterNode, Verdict } from "../../../src/core/scheduler/filters/filter.ts";
import type { Request } from "../../../src/core/scheduler/request.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";

const EXAMPLES_MAX = 3;

export interface SlowView {
  readonly nodes: Iterable<NodeRecord>;
  readonly filters: FilterChain;
}

/**
 * By node, not by class: slow, and simple enough to be the reference. The result of each node for a request: the filter that rejects it,
 * and whether waiting can help.
 */
export function outlook(request: Request, { nodes, filters }: SlowView): Outlook {
  const byReason = new Map<string, NodeReason>();
  let now = 0;
  let later = 0;
  let all = 0;
  for (const record of nodes) {
    const at = all++;
    const verdict = judge(filters, request, record);
    if (verdict.kind === "yes") {
      now++;
      continue;
    }
    if (verdict.kind === "not-now") later++;
    const key = JSON.stringify(verdict);
    const known = byReason.get(key);
    const examples = [...(known?.examples ?? []), { at, name: record.node.id }];
    byReason.set(key, {
      reason: verdict.reason,
      never: verdict.kind === "never",
      nodes: (known?.nodes ?? 0) + 1,
      examples: examples.slice(0, EXAMPLES_MAX),
    });
  }
  return { now, later, nodes: all, reasons: [...byReason.values()] };
}

/** The first rejection; one that is permanent outranks one that is not. */
export function judge({ filters }: FilterChain, request: Request, node: FilterNode): Verdict {
  let notNow: Verdict | undefined;
  for (const { ever, now } of filters) {
    if (ever?.allows(request, node) === false)
      return { kind: "never", reason: ever.reason(request, node) };
    if (now?.allows(request, node) === false)
      notNow ??= { kind: "not-now", reason: now.reason(request, node) };
  }
  return notNow ?? { kind: "yes" };
}
