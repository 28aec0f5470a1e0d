import { INSTANCES } from "../../model/job/workload/workload.ts";
import type { Request } from "../request.ts";
import type { Filter, FilterNode, Question } from "./filter.ts";
import type { Reason } from "./reason.ts";

type Verdict = FilterNode["graph"]["containers"];

type Start = "containers" | NonNullable<Request["where"]["workload"]> | "instance" | "";

/**
 * How a task is started, if not as a process. "instance": it requests some of the resource, as jobs of workloads did that an earlier
 * version stored without a kind.
 */
function startedAs({ where, needs }: Request): Start {
  if (where.containers !== undefined) return "containers";
  return where.workload ?? ((needs[INSTANCES] ?? 0) > 0 ? "instance" : "");
}

/** Without containers in the request it does not read the graph, which is made on first use. */
const question = (can: (verdict: Verdict) => boolean): Question => ({
  allows(request, view) {
    const isWorker = view.node.instancesOnly === true;
    switch (startedAs(request)) {
      case "":
        return !isWorker;
      case "instance":
        return true;
      case "Function":
        return isWorker;
      case "Pod":
        return isWorker || can(view.graph.containers);
      case "FilePod":
      case "containers":
        return !isWorker && can(view.graph.containers);
    }
  },
  reason: (request, view): Reason => {
    const kind = startedAs(request);
    if (view.node.instancesOnly === true)
      return { kind: kind === "FilePod" ? "no-file-images" : "instances-only" };
    if (kind === "Function") return { kind: "no-functions" };
    return { kind: "no-containers", why: whyOf(view.graph.containers) };
  },
});

const whyOf = (verdict: Verdict): string => (verdict.kind === "can" ? "" : verdict.why);

/**
 * For tasks with containers: rejects nodes whose agent cannot start them, or has not reported yet. Workers of rik start instances of
 * workloads of every kind whose images have names in a registry, and nothing else.
 */
export const startsContainers: Filter = {
  name: "starts-containers",
  ever: question(({ kind }) => kind !== "never"),
  now: question(({ kind }) => kind === "can"),
  requestKey: startedAs,
  nodeKey: (request) => {
    const kind = startedAs(request);
    const looksAtGraph = kind === "containers" || kind === "Pod" || kind === "FilePod";
    return (view) => {
      if (view.node.instancesOnly === true) return "instances";
      if (!looksAtGraph) return "";
      const { containers } = view.graph;
      return `${containers.kind} ${whyOf(containers)}`;
    };
  },
};
