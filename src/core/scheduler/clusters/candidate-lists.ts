import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { limits } from "../../../limits.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Candidate } from "../../select/strategy.ts";
import type { ClusterAnswer } from "../explain/satisfy.ts";
import { candidateOf } from "./cluster-candidate.ts";
import type { ClusterTable } from "./cluster-table.ts";

/** The answers of clusters to each part of a request. Never changed: new answers are a new list. */
export type AnswersOfParts = readonly (readonly Pick<
  ClusterAnswer,
  "cluster" | "now" | "slots"
>[])[];

/**
 * The candidates that follow from answers, remembered for the most recent answers: clients submit thousands of
 * jobs with the same request to the same clusters, and between them no answer changes.
 */
export class CandidateLists {
  readonly #clusters: ClusterTable;
  readonly #known = new RecentMap<AnswersOfParts, readonly Candidate[]>(
    limits.knownCandidateListsMax,
  );

  constructor(clusters: ClusterTable) {
    this.#clusters = clusters;
  }

  /** The clusters that could accept all parts now. */
  of(parts: AnswersOfParts): readonly Candidate[] {
    let candidates = this.#known.get(parts);
    if (candidates === undefined) {
      candidates = candidatesOf(this.#clusters, parts);
      this.#known.set(parts, candidates);
    }
    return candidates;
  }
}

function candidatesOf(clusters: ClusterTable, parts: AnswersOfParts): readonly Candidate[] {
  const slots = new Map<ClusterId, number>();
  for (const answer of parts[0] ?? []) slots.set(answer.cluster, Infinity);
  for (const answer of parts.flat()) {
    const known = slots.get(answer.cluster);
    if (known === undefined) continue;
    if (answer.now) slots.set(answer.cluster, Math.min(known, answer.slots));
    else slots.delete(answer.cluster);
  }
  return [...slots].map(([cluster, count]) => candidateOf(clusters, cluster, count));
}
