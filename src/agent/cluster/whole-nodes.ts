import type { ResourceChoice, ResourceRequest } from "../../core/graph/request.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { RunRequest } from "../../ports/executor.ts";

/**
 * What a run takes of its cluster, nodes that it has for itself too: those are said by what was asked
 * of the graph alone, and their cpus are then no matter of the amounts.
 */
export function takenBy({ needs, request }: Pick<RunRequest, "needs" | "request">): Resources {
  const nodes = request === undefined ? 0 : wholeNodes(request);
  if (nodes === 0) return needs;
  const { cpu: _cpu, ...others } = needs;
  return { ...others, nodes };
}

/** Nodes that the preferred alternative takes whole: exclusive, or nothing is asked inside of them. */
function wholeNodes([first = []]: ResourceChoice): number {
  const count = (tree: ResourceRequest, copies: number): number => {
    const all = copies * tree.count;
    const isWhole = tree.isExclusive || tree.with.length === 0;
    if (tree.type === "node") return isWhole ? all : 0;
    return tree.with.reduce((sum, inner) => sum + count(inner, all), 0);
  };
  return first.reduce((sum, tree) => sum + count(tree, 1), 0);
}
