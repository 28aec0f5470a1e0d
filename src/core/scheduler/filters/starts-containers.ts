import type { Request } from "../request.ts";
import type { Filter, FilterNode, Question } from "./filter.ts";

type Verdict = FilterNode["graph"]["containers"];

/** The graph is made when it is first looked at: not here, when no container is asked for. */
const question = (allows: (verdict: Verdict) => boolean): Question => ({
  allows: ({ where }, view) => where.containers === undefined || allows(view.graph.containers),
  reason: (_, { graph }) => ({ kind: "no-containers", why: whyOf(graph.containers) }),
});

const whyOf = (verdict: Verdict): string => (verdict.kind === "can" ? "" : verdict.why);

const keyOf = ({ where }: Request): string => (where.containers === undefined ? "" : "containers");

/** Rejects nodes whose agent cannot start containers, or does not know yet, for tasks that run in some. */
export const startsContainers: Filter = {
  name: "starts-containers",
  ever: question(({ kind }) => kind !== "never"),
  now: question(({ kind }) => kind === "can"),
  requestKey: keyOf,
  nodeKey: ({ where }) =>
    where.containers === undefined
      ? () => ""
      : ({ graph }) => `${graph.containers.kind} ${whyOf(graph.containers)}`,
};
