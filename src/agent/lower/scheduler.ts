import type { StepShape } from "../../core/jobspec/write/to-steps.ts";
import type { RunEnd } from "../../ports/executor.ts";
import type { LowerSubmitAnswer } from "./submit-each.ts";

/** The processes of a job and their resources. */
export type LowerShape = StepShape;

/** In `stdout` and `stderr` of an array: the index of the element. */
export const INDEX = "{index}";

/** One job for the scheduler below, or an array of jobs that differ in their index only. */
export interface LowerJob {
  /** Unique over time: the scheduler stores it with the job, in its comment or name; see `find`. */
  readonly marker: string;
  /** For people. Any text. */
  readonly name: string;
  /**
   * Text with its `#!` line, run once, whatever the number of processes. Complete: it enters the working directory, sets the environment
   * and starts the processes (`launcher`) by itself, so that no user input passes through options of the scheduler.
   */
  readonly script: string;
  /** Where the script begins; it exists. */
  readonly directory: string;
  /** The agent itself ends the job at this time. The scheduler may end it later, never earlier. */
  readonly timeLimitMs: number | undefined;
  /** From TERM to KILL. */
  readonly killGraceMs: number;
  readonly shape: LowerShape;
  /** How its script starts processes; some schedulers need to know it. */
  readonly launch: "each-process" | "once";
  /** undefined: one job. Else an array with these indexes, ascending, each once. */
  readonly indexes: readonly number[] | undefined;
  /**
   * Ids of jobs that must have succeeded before it begins; of an array, all elements. When one of them fails, the job ends by itself
   * without having begun.
   */
  readonly after: readonly string[];
  /** Files to which the scheduler appends all output of the job. Those of an array contain INDEX. */
  readonly stdout: string;
  readonly stderr: string;
}

export type LowerState =
  | { readonly kind: "queued"; readonly reason?: string }
  | { readonly kind: "running"; readonly startedAtMs: number }
  | {
      readonly kind: "ended";
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly end: LowerEnd;
    }
  | { readonly kind: "unknown" }; // the scheduler has no record of it

/**
 * As for runs.
 *
 * - skipped: it never began, because a job that it depends on did not succeed.
 * - cancelled: a client of the scheduler cancelled it; the scheduler cannot say whether that was this agent.
 * - vanished: the scheduler lost it (a node failed, it was preempted) and does not run it again.
 */
export type LowerEnd =
  | Exclude<RunEnd, { readonly kind: "stopped" }>
  | { readonly kind: "skipped"; readonly message: string }
  | { readonly kind: "cancelled" };

/** Ids of a submitted job: one for each index, in their order; a single one when it is no array. */
export type LowerIds = readonly string[];

/** The key of `find`. */
export type LowerQuery = Pick<LowerJob, "marker" | "indexes">;

/**
 * A scheduler that runs jobs on a cluster: Slurm, Flux. Each call is a program or two with a limit on its time and output.
 *
 * - All throw AppError `unavailable` when the scheduler does not answer (its controller is down, the
 *   program hangs): the state is unknown then, and the scheduler may or may not have accepted a submission.
 * - `submitAll` answers for each job, in their order, and does not throw. An answer has failed with
 *   `unavailable` as above, with any other AppError when the scheduler has refused the job for good; its
 *   message is for people. `exhausted`: the array exceeds the scheduler's limit; its elements may be
 *   submitted one by one.
 * - `find` and `poll` ask for many in one call. `find` leaves out unknown jobs; for an array it
 *   returns `undefined` for unknown elements. It also finds jobs that have ended as long as the
 *   scheduler, or its accounting, has a record of them.
 * - `poll` answers for every given id.
 * - `cancel` asks jobs to end, queued or running (TERM, KILL after the scheduler's own grace period), or
 *   kills them at once, and does not wait. Ids that are unknown or have ended are ignored.
 */
export interface LowerScheduler {
  readonly name: string;
  /** Expressions for a job's script, as words of a POSIX shell, between double quotes. */
  readonly inside: {
    /** Its id, as `submit` returned it; in an array the element's own. */
    readonly id: string;
    /** The index of an element. */
    readonly index: string;
  };
  /** Whether the scheduler writes its own messages to `stdout` and `stderr` of such a job: its script then writes to other files. */
  writesIntoOutput(job: Pick<LowerJob, "launch" | "shape">): boolean;
  /** Words before a command, inside a job: they run it once for each process of the shape. */
  launcher(shape: LowerShape): readonly string[];
  submitAll(jobs: readonly LowerJob[]): Promise<readonly LowerSubmitAnswer[]>;
  find(
    queries: readonly LowerQuery[],
  ): Promise<ReadonlyMap<string, readonly (string | undefined)[]>>;
  poll(ids: readonly string[]): Promise<ReadonlyMap<string, LowerState>>;
  cancel(ids: readonly string[], how: "ask" | "kill"): Promise<void>;
}
