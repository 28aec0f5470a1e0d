import * as fc from "fast-check";
import type {
  ClusterReasonView,
  DependencyReasonView,
  ExplanationView,
  NodeReasonView,
  TriedJobView,
} from "../../../server/views/views.ts";
import { count, jobState, name, record, text, wide } from "./arbitrary-values.ts";

const clusterReasons = record<ClusterReasonView>(
  {
    cluster: name,
    kind: fc.constantFrom("managed", "pulling"),
    verdict: fc.constantFrom("now", "later", "never"),
    reasons: fc.array(text, { maxLength: 2 }),
  },
  [],
);

export const tried = record<TriedJobView>(
  {
    name,
    tasks: wide,
    placements: fc.array(
      record<TriedJobView["placements"][number]>({ index: count, cluster: name, node: name }, [
        "node",
      ]),
      { maxLength: 2 },
    ),
    waiting: wide,
    untried: wide,
    possible: fc.boolean(),
    reason: text,
    reasons: fc.constant([]),
    clusters: fc.array(clusterReasons, { maxLength: 2 }),
    hints: fc.array(text),
    cheapestChange: text,
  },
  ["reason", "cheapestChange"],
);

export const explanations = record<ExplanationView>(
  {
    jobId: name,
    state: jobState,
    summary: text,
    reasons: fc.array(
      record<NodeReasonView>(
        { reason: text, nodes: count, never: fc.boolean(), examples: fc.array(name) },
        [],
      ),
    ),
    hints: fc.array(text),
    clusters: fc.array(clusterReasons, { maxLength: 2 }),
    cheapestChange: text,
    ahead: wide,
    nodes: count,
    dependencies: fc.array(
      record<DependencyReasonView>(
        {
          jobId: name,
          name,
          state: name,
          wants: text,
          met: fc.boolean(),
          impossible: fc.boolean(),
        },
        [],
      ),
    ),
  },
  ["cheapestChange"],
);
