import type { RunSpec } from "../../gen/busbar/v1/agent_pb.ts";
import { invalid } from "../../lib/errors.ts";
import type { RunId } from "../../ports/executor.ts";
import { needsKey } from "../runs/needs-key.ts";

/** The spec of a job with a run here or in the queue. */
export interface CachedSpec {
  readonly spec: RunSpec;
  readonly needs: string;
  queued: number; // queued starts, and held runs
}

/** The specs of jobs with a run in one session, or in its queue; the server counts them in the same way. */
export class CachedSpecs {
  readonly #byJob = new Map<number, CachedSpec>();

  add(spec: RunSpec): void {
    const queued = this.#byJob.get(spec.job)?.queued ?? 0;
    this.#byJob.set(spec.job, { spec, needs: needsKey(spec.needs), queued });
  }

  /** Throws when the server has not sent it. */
  of({ jobId }: RunId, field: string): CachedSpec {
    const cached = this.#byJob.get(jobId);
    if (cached === undefined) throw invalid(field, `job ${jobId} came without its spec`);
    return cached;
  }

  get(jobId: number): CachedSpec | undefined {
    return this.#byJob.get(jobId);
  }

  isQueued(jobId: number): boolean {
    return (this.#byJob.get(jobId)?.queued ?? 0) > 0;
  }

  /** A run of the job is no longer in the queue. */
  unqueue({ jobId }: RunId): void {
    const cached = this.#byJob.get(jobId);
    if (cached !== undefined) cached.queued -= 1;
  }

  delete(jobId: number): void {
    this.#byJob.delete(jobId);
  }
}
