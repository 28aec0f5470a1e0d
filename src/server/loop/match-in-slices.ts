import { graphRequest } from "../../core/graph/request/graph-request.ts";
import { matchWork } from "../../core/graph/match/match-work.ts";
import { matchGraphs } from "../../core/scheduler/nodes/node-classes.ts";
import type { Request } from "../../core/scheduler/request.ts";
import { limits } from "../../limits.ts";
import type { ControlLoop } from "./control-loop.ts";

/**
 * Matches requests with the graphs of all nodes before a command or an explanation needs the
 * results: commands and other readers have their turn between slices. It matches only the first few different
 * requests, in a bounded number of steps; the code that matches the rest has its own bound.
 */
export async function matchInSlices(
  loop: ControlLoop,
  requests: readonly Pick<Request, "request">[],
): Promise<void> {
  const known = new Set<string>();
  let steps = 0;
  for (const { request } of requests) {
    if (request === undefined || known.size >= limits.matchedRequestsMax) continue;
    const { key } = graphRequest(request);
    if (known.has(key)) continue;
    known.add(key);
    let slices: Generator<undefined, void> | undefined;
    await loop.peekSlices(({ nodes }) => {
      slices ??= matchGraphs(nodes, request);
      const firstStep = matchWork.steps;
      const isDone = slices.next().done === true;
      steps += matchWork.steps - firstStep;
      return isDone || steps >= limits.submissionStepsMax;
    });
  }
}
