import type { ResourceChoice } from "../core/graph/request/request.ts";
import type { FactEntry } from "../core/model/node/node-facts.ts";
import type { ContainerTerms } from "../core/model/job/containers/containers.ts";
import type { AttachKind } from "../core/model/job/attach/attach.ts";
import type { ReportedProgress } from "../core/model/job/task-progress.ts";
import type { Usage } from "../core/model/job/usage.ts";

import type { AttachEvents, AttachedRun } from "./attached-run.ts";

/** Identifies a run: one attempt at one task, which an agent starts, reports and stops. */
export interface RunId {
  readonly jobId: number;
  readonly index: number;
  readonly attempt: number;
}

/** Everything an executor needs to start a run; no field refers to data outside the request. */
export interface RunRequest {
  readonly id: RunId;
  /** The job's name. */
  readonly name: string;
  /** The task's index in its array; undefined: the job is no array. */
  readonly arrayIndex: number | undefined;
  /** The program and its arguments, or a script run by its own `#!` line (default /bin/sh). */
  readonly work:
    | { readonly kind: "command"; readonly argv: readonly string[] }
    | {
        readonly kind: "script";
        readonly text: string;
        /** Its arguments inside a container; for any other run `before` passes them. */
        readonly args?: readonly string[];
      }
    /** All tasks of a jobspec, each after its dependencies; the server sends these to agents of clusters only. */
    | { readonly kind: "jobspec"; readonly text: string }
    /** The definition of a workload; the server sends these only to nodes that have "instances". */
    | { readonly kind: "workload"; readonly text: string };
  /**
   * The containers that the work runs in; absent: none. An empty command means the command of the image; `cwd` is a
   * path inside the container.
   */
  readonly container?: ContainerTerms;
  /** Words to put before the work's command, like `nice -n 5`, which then runs the command. */
  readonly before?: readonly string[];
  /** The graph request, for executors that pass it on; undefined: `needs` is the whole request. */
  readonly request: ResourceChoice | undefined;
  /** The energy assigned to this share of a job; undefined: the run is not a share. */
  readonly shareWattSeconds?: number;
  /** Requested resources in base units: thousandths of a cpu, bytes. */
  readonly needs: Readonly<Record<string, number>>;
  /** All variables of the job, BUSBAR_* included; the executor adds them to the agent's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** undefined: the executor makes a new directory for the run. */
  readonly cwd: string | undefined;
  /** Used without `cwd`: the run starts here if this machine has that very directory; see `inSubmitDirectory`. */
  readonly submitDirectory?: SubmitDirectory;
  /** Files that receive the output instead of the executor (JobSpec.stdout_file); an empty name: none. */
  readonly outputFiles?: { readonly stdout: string; readonly stderr: string };
  readonly timeLimitMs: number | undefined;
  readonly killGraceMs: number;
  /** For stdout and stderr each. The executor drops output beyond this and marks it as truncated. */
  readonly outputLimitBytes: number;
  /** A client is the run's standard input or terminal; absent: no client can attach. */
  readonly attach?: { readonly kind: AttachKind; readonly hangUpMs: number };
  /** The job itself, for executors that submit it to another Busbar. */
  readonly job?: JobOfRun;
}

/** The directory that a job was submitted from. */
export interface SubmitDirectory {
  readonly path: string;
  /** See `identifyDirectory`. */
  readonly id: string;
}

export interface JobOfRun {
  /** A busbar.v1.JobSpec without the fields that the request has in `work` and `env`. */
  readonly spec: Uint8Array;
  readonly submittedAtMs: number;
  /** How many tasks the array has; undefined: the job is no array. */
  readonly arraySize: number | undefined;
}

export type RunEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  /** `message`: who sent the signal, if that is known. */
  | { readonly kind: "signalled"; readonly signal: string; readonly message?: string }
  | { readonly kind: "time-limit"; readonly signal: string | undefined }
  /** The kernel killed the run because it exceeded its memory limit. `limitBytes`: that limit, if it is known. */
  | { readonly kind: "out-of-memory"; readonly limitBytes?: number }
  | { readonly kind: "stopped"; readonly signal: string | undefined }
  | { readonly kind: "could-not-start"; readonly message: string }
  /** The machine could not start the run, and could not have started any other. */
  | { readonly kind: "node-fault"; readonly message: string }
  | { readonly kind: "vanished"; readonly message: string };

export type RunReport =
  | { readonly kind: "running"; readonly startedAtMs: number }
  | {
      readonly kind: "ended";
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly end: RunEnd;
      /** undefined: the executor could not measure anything. */
      readonly usage?: Usage | undefined;
      /** The last progress that the run reported; undefined: none. */
      readonly progress?: ReportedProgress | undefined;
    };

export type EndedReport = Extract<RunReport, { kind: "ended" }>;

/** Runs that are queued in the scheduler below for the same reason. */
export interface QueuedRuns {
  /** The name of that scheduler and the reason that it reports: "slurm: Resources". */
  readonly reason: string;
  readonly runs: readonly RunId[];
}

export interface OutputPart {
  readonly data: Uint8Array;
  /** The run has ended and nothing follows `data`. */
  readonly eof: boolean;
  readonly truncated: boolean;
}

/**
 * Held runs, for executors that learn late that a run has ended. The executor may begin a held run in place of
 * one with equal needs that has ended by itself, before it reports that end.
 *
 * - `hold` adds a held run; it ignores a run that it knows already.
 * - A listener of onReport calls `next` while it receives that end. The answer is the run that has begun, or
 *   will begin, in its place; the caller starts it. undefined: the caller may start any run.
 * - The executor reports a held run that it began itself like any other run.
 * - `release` resolves to true when the run will never begin. When it resolves to false, the run was reported before.
 */
export interface AheadRuns {
  hold(request: RunRequest): void;
  next(ended: RunId): RunId | undefined;
  release(id: RunId): Promise<boolean>;
}

/**
 * Runs work somewhere: a child process, Slurm, Flux, or a simulated edge.
 *
 * - It records its runs on disk. The agent may be killed at any moment: a new executor over the same data
 *   finds the runs of the earlier one and reports them as if nothing had happened.
 * - `start` is idempotent by id: after a crash the agent starts all its assigned runs again,
 *   and work that is already running, or has ended, must not run twice. It does not wait for the
 *   work. It never throws; a failure to start is an end like any other: "node-fault" when the machine is
 *   to blame, "could-not-start" when the work is.
 * - It calls listeners of `onReport` for each change of each run, in order per run: running (may be left out
 *   when the end follows at once), then ended, exactly once per executor life.
 * - `known` lists every run that is running, or has ended and was not forgotten, with its last
 *   report. `queued` lists the accepted runs that have not started yet; where there is a queue, this includes
 *   runs of an earlier life. `whyQueued` (optional) lists the reasons that are known.
 * - `stop` asks a run to end (TERM, after its grace period KILL, to the whole group). The executor reports
 *   the end. It ignores a run that it does not know.
 * - `forget` drops the record of an ended run; the executor may retain the output for a while.
 * - `readOutput` waits up to `waitMs` when there is no output past `offset` yet and the run has not ended.
 *   Throws AppError not_found for a run it does not know or whose output was removed.
 * - `onProgress` (optional) calls its listeners with progress of a running run, not with every report; after a
 *   restart, with the last report. The last progress of a run is in its `ended` report.
 * - `attach` (optional) connects a client to a run whose request has `attach`; the newest client wins. It
 *   waits for a run that has just begun. Executors without it fail such a run: "could-not-start".
 * - `probe` (optional) resolves when the machine can start work (again), and repairs what it can; it throws an
 *   Error whose message says why the machine cannot. After a "node-fault" the agent starts no run until `probe`
 *   has resolved.
 * - `ahead` (optional) begins held runs by itself: see AheadRuns.
 * - `close` stops watching and leaves the work running.
 */
export interface Executor {
  readonly name: string;
  readonly ahead?: AheadRuns;
  /** Which requested limits it enforces, and why not the others: entries of the subsystem "limits". */
  readonly enforced?: readonly FactEntry[];
  start(request: RunRequest): void;
  stop(id: RunId): void;
  forget(id: RunId): void;
  known(): readonly { readonly id: RunId; readonly report: RunReport }[];
  queued(): readonly RunId[];
  whyQueued?(): readonly QueuedRuns[];
  readOutput(
    id: RunId,
    stream: "stdout" | "stderr",
    options: { readonly offset: number; readonly maxBytes: number; readonly waitMs: number },
  ): Promise<OutputPart>;
  onReport(listener: (id: RunId, report: RunReport) => void): void;
  onProgress?(listener: (id: RunId, progress: ReportedProgress) => void): void;
  attach?(id: RunId, events: AttachEvents): AttachedRun;
  probe?(): Promise<void>;
  close(): Promise<void>;
}
