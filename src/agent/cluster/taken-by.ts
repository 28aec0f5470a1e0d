import { amountsOf, graphRequest } from "../../core/graph/request/graph-request.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { RunRequest } from "../../ports/executor.ts";

/** The capacity that a run uses of its cluster, by its preferred alternative. CPUs of its exclusive nodes do not count in the amounts. */
export function takenBy({ needs, request }: Pick<RunRequest, "needs" | "request">): Resources {
  if (request === undefined) return needs;
  const { amounts, nodes } = amountsOf(graphRequest(request).compiled.alternatives[0]);
  const { cpu: _cpu, ...others } = amounts;
  return nodes === 0 ? amounts : { ...others, nodes };
}
