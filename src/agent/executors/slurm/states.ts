import { signalName } from "../../runs/command-outcome.ts";
import type { LowerEnd, LowerState } from "../../lower/scheduler.ts";

/** One job, or one element of an array, as squeue or sacct reports it. */
export interface SlurmJob {
  readonly id: string;
  /** The first word of its state. */
  readonly state: string;
  readonly reason: string;
  readonly exitCode: number;
  /** 0: none. */
  readonly signal: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
}

type Row =
  | { readonly kind: "queued" }
  | { readonly kind: "running" }
  | { readonly kind: "ended"; end(job: SlurmJob): LowerEnd };

const QUEUED: Row = { kind: "queued" };
const RUNNING: Row = { kind: "running" };
const ended = (end: (job: SlurmJob) => LowerEnd): Row => ({ kind: "ended", end });
const lost = (message: string): Row => ended(() => ({ kind: "vanished", message }));

/** The end of its script: Slurm reports the exit code, or the signal that ended it. */
const asItExited = ({ exitCode, signal }: SlurmJob): LowerEnd =>
  signal > 0 ? { kind: "signalled", signal: signalName(signal) } : { kind: "exited", exitCode };

const SKIPPED: LowerEnd = { kind: "skipped", message: "a job that it depends on did not succeed" };

/** Every state of squeue and sacct. */
const ROWS: Readonly<Record<string, Row>> = {
  PENDING: QUEUED,
  CONFIGURING: QUEUED, // its nodes are being booted
  REQUEUED: QUEUED,
  REQUEUE_FED: QUEUED,
  REQUEUE_HOLD: QUEUED,
  RESV_DEL_HOLD: QUEUED,
  SPECIAL_EXIT: QUEUED, // held, after an exit code that its site handles this way
  RUNNING,
  COMPLETING: RUNNING, // its exit code is not final
  SUSPENDED: RUNNING,
  STOPPED: RUNNING,
  SIGNALING: RUNNING,
  RESIZING: RUNNING,
  STAGE_OUT: RUNNING,
  COMPLETED: ended(asItExited),
  FAILED: ended((job) =>
    job.exitCode === 0 && job.signal === 0
      ? { kind: "vanished", message: `Slurm could not run it: ${job.reason}` }
      : asItExited(job),
  ),
  TIMEOUT: ended(() => ({ kind: "time-limit", signal: "SIGTERM" })),
  DEADLINE: ended(() => ({ kind: "time-limit", signal: undefined })),
  CANCELLED: ended(({ reason }) => (isNeverSatisfied(reason) ? SKIPPED : { kind: "cancelled" })),
  OUT_OF_MEMORY: ended(() => ({ kind: "out-of-memory" })),
  NODE_FAIL: lost("one of its nodes failed"),
  BOOT_FAIL: lost("one of its nodes could not be booted"),
  LAUNCH_FAILED: lost("one of its nodes could not launch it"),
  RECONFIG_FAIL: lost("one of its nodes could not be set up"),
  PREEMPTED: lost("Slurm preempted it for another job"),
  REVOKED: lost("Slurm moved it to another cluster"),
};

const isNeverSatisfied = (reason: string): boolean => reason === "DependencyNeverSatisfied";

/** The meaning of a Slurm job state. An unknown state is no end. */
export function toLowerState(job: SlurmJob, nowMs: number): LowerState {
  if (job.state === "PENDING" && isNeverSatisfied(job.reason)) {
    return { kind: "ended", startedAtMs: undefined, endedAtMs: nowMs, end: SKIPPED };
  }
  const row = ROWS[job.state] ?? QUEUED;
  switch (row.kind) {
    case "queued":
      return { kind: "queued", reason: job.reason };
    case "running":
      return { kind: "running", startedAtMs: job.startedAtMs ?? nowMs };
    case "ended": {
      const end = row.end(job);
      const hasBegun = end.kind !== "skipped" && job.startedAtMs !== undefined && !isUnstarted(job);
      return {
        kind: "ended",
        startedAtMs: hasBegun ? job.startedAtMs : undefined,
        endedAtMs: job.endedAtMs ?? nowMs,
        end,
      };
    }
  }
}

/** For a job that was cancelled in the queue Slurm reports its end as its start. */
const isUnstarted = ({ state, exitCode, signal, startedAtMs, endedAtMs }: SlurmJob): boolean =>
  state === "CANCELLED" && exitCode === 0 && signal === 0 && startedAtMs === endedAtMs;
