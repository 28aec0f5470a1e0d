import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { limits } from "../../../limits.ts";
import { type JobSpec, SharedSpec } from "../../model/job/job.ts";
import { shareText } from "./job-codec.ts";

/** The same job for this cluster alone. */
export const inCluster = (spec: JobSpec, cluster: string): JobSpec =>
  new SharedSpec(
    spec.name,
    spec.work,
    { ...spec.terms, where: { ...spec.where, cluster } },
    { dependsOn: spec.dependsOn, energy: spec.energy },
  );

/**
 * Specs of jobs whose cluster was chosen at submission. Jobs that were submitted with one spec and got the same
 * cluster share one object.
 */
export class ClusterSpecs {
  readonly #known = new RecentMap<string, JobSpec>(limits.knownClusterSpecsMax);
  readonly #numbers = new WeakMap<JobSpec, number>();
  #lastNumber = 0;

  of(spec: JobSpec, cluster: string): JobSpec {
    const key = `${this.#numberOf(spec)} ${cluster}`;
    let made = this.#known.get(key);
    if (made === undefined) {
      made = inCluster(spec, cluster);
      shareText(made);
      this.#known.set(key, made);
    }
    return made;
  }

  /** A number is never used again, not even when its spec is no longer in use. */
  #numberOf(spec: JobSpec): number {
    let number = this.#numbers.get(spec);
    if (number === undefined) this.#numbers.set(spec, (number = ++this.#lastNumber));
    return number;
  }
}
