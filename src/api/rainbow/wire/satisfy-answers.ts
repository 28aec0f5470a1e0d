import { create, toBinary } from "@bufbuild/protobuf";
import {
  SatisfyResponse_ResultType,
  SatisfyResponseSchema,
} from "../../../gen/rainbow/v1/memory_pb.ts";
import type { SatisfyingClusters } from "../satisfy.ts";

/** SatisfyResponses, encoded once while the result stays the same object: clients ask before each of many jobs. */
export class SatisfyAnswers {
  readonly #known = new WeakMap<readonly string[], { readonly total: number; bytes: Uint8Array }>();

  encode({ clusters, total }: SatisfyingClusters): Uint8Array {
    const before = this.#known.get(clusters);
    if (before?.total === total) return before.bytes;
    const answer = create(SatisfyResponseSchema, {
      clusters: [...clusters],
      status: SatisfyResponse_ResultType.SUCCESS,
      totalClusters: total,
      totalMatches: clusters.length,
      totalMismatches: total - clusters.length,
    });
    const bytes = toBinary(SatisfyResponseSchema, answer);
    this.#known.set(clusters, { total, bytes });
    return bytes;
  }
}
