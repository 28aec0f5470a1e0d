import type { ResourceChoice } from "../core/graph/request/request.ts";
import type { FactEntry } from "../core/model/node/node-facts.ts";
import type { ContainerTerms } from "../core/model/job/containers/containers.ts";
import type { AttachKind } from "../core/model/job/attach/attach.ts";
import type { ToldProgress } from "../core/model/job/task-progress.ts";
import type { Usage } from "../core/model/job/usage.ts";

import type { AttachEvents, AttachedRun } from "./attached-run.ts";

/** One attempt at one task: what an agent starts, reports and stops. */
export interface RunId {
  readonly jobId: number;
  readonly index: number;
  readonly attempt: number;
}

/** Everything an executor needs to start a run, complete: no field refers to anything else. */
export interface RunRequest {
  readonly id: RunId;
  /** What people call the job. */
  readonly name: string;
  /** In an array, which one it is. */
  readonly arrayIndex: number | undefined;
  /** The program and its arguments, or a script run by its own `#!` line (default /bin/sh). */
  readonly work:
    | { readonly kind: "command"; readonly argv: readonly string[] }
    | { readonly kind: "script"; readonly text: string }
    /** All tasks of a jobspec, each after those it depends on; only agents of clusters get these. */
    | { readonly kind: "jobspec"; readonly text: string }
    /** The definition of a workload; only executors whose nodes have "instances" get these. */
    | { readonly kind: "workload"; readonly text: string };
  /**
   * The containers that the work runs in; absent: none. A command without words is the image's own; `cwd` is inside.
   */
  readonly container?: ContainerTerms;
  /** Words to put before the work's command, like `nice -n 5`: they run it in their place. */
  readonly before?: readonly string[];
  /** What was asked of a graph, for executors that hand it on; undefined: `needs` say it all. */
  readonly request: ResourceChoice | undefined;
  /** The energy that it is to use, of a job that is split by energy; undefined: it is no share. */
  readonly shareWattSeconds?: number;
  /** In base units: thousandths of a cpu, bytes. */
  readonly needs: Readonly<Record<string, number>>;
  /** Complete, BUSBAR_* included; added to the agent's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** undefined: a fresh directory of the run's own. */
  readonly cwd: string | undefined;
  /** Without `cwd`: where to run if this machine has that very directory; see `inSubmitDirectory`. */
  readonly submitDirectory?: SubmitDirectory;
  /** Files that get the output instead of the executor, as JobSpec.stdout_file says; empty: none. */
  readonly outputFiles?: { readonly stdout: string; readonly stderr: string };
  readonly timeLimitMs: number | undefined;
  readonly killGraceMs: number;
  /** For stdout and stderr each; what comes after is dropped, and said so. */
  readonly outputLimitBytes: number;
  /** A client is its standard input or its terminal; absent: it has none. */
  readonly attach?: { readonly kind: AttachKind; readonly hangUpMs: number };
  /** The job itself, for executors that hand it on to another Busbar. */
  readonly job?: JobOfRun;
}

/** The directory that a job was submitted from. */
export interface SubmitDirectory {
  readonly path: string;
  /** See `identifyDirectory`. */
  readonly id: string;
}

export interface JobOfRun {
  /** A busbar.v1.JobSpec without what the request has in `work` and `env`. */
  readonly spec: Uint8Array;
  readonly submittedAtMs: number;
  /** How many tasks its array has; undefined: it is none. */
  readonly arraySize: number | undefined;
}

export type RunEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  /** `message`: who sent it, where that is known. */
  | { readonly kind: "signalled"; readonly signal: string; readonly message?: string }
  | { readonly kind: "time-limit"; readonly signal: string | undefined }
  /** Killed by the kernel for using more than its memory limit, if that is known. */
  | { readonly kind: "out-of-memory"; readonly limitBytes?: number }
  | { readonly kind: "stopped"; readonly signal: string | undefined }
  | { readonly kind: "could-not-start"; readonly message: string }
  /** It did not start, for reasons of the machine: any other would not have either. */
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
      /** The last that the run said of how far it is; undefined: nothing. */
      readonly progress?: ToldProgress | undefined;
    };

export type EndedReport = Extract<RunReport, { kind: "ended" }>;

/** Runs that wait in a queue below, for the same reason. */
export interface QueuedRuns {
  /** In words of that scheduler, behind its name: "slurm: Resources". */
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
 * Runs that begin in the place of others, for executors that are told of an end late. It may begin a
 * held run when one of equal needs has ended by itself, before it has reported that end.
 *
 * - `hold` takes a run; one that is known already is ignored.
 * - `next` is asked by a listener of onReport while it hears of that end: which run has begun in its
 *   place, or is to. The caller starts it. undefined: the caller may start any.
 * - A held run that has begun though nobody started it is reported, as any run.
 * - `release` resolves to whether the run will never begin. If not, it was reported before.
 */
export interface AheadRuns {
  hold(request: RunRequest): void;
  next(ended: RunId): RunId | undefined;
  release(id: RunId): Promise<boolean>;
}

/**
 * Runs work somewhere: a child process, Slurm, Flux, or a simulated edge.
 *
 * - It remembers its runs on disk: a new executor over the same data finds what an earlier one,
 *   killed at any moment, had started, and reports it as if nothing had happened.
 * - `start` is idempotent by id: after a crash the agent starts everything it was assigned again,
 *   and work that is already running, or has ended, must not run twice. It does not wait for the
 *   work; failure to start is an end like any other, never a throw: "node-fault" when the machine is
 *   to blame, "could-not-start" when the work is.
 * - `onReport` is called for each change of each run, in order per run: running (may be left out
 *   when the end follows at once), then ended, exactly once per executor life.
 * - `known` lists every run that is running, or has ended and was not forgotten, with its last
 *   report. `queued` lists those that it has taken and that wait for their turn: where there is a
 *   queue, of an earlier life too. `whyQueued`, where there is one, tells why, as far as it is known.
 * - `stop` asks a run to end (TERM, after its grace period KILL, to the whole group). The end is
 *   reported. A run it does not know is ignored.
 * - `forget` drops what is remembered of an ended run; its output may be kept for a while.
 * - `readOutput` waits up to `waitMs` when there is nothing past `offset` yet and the run goes on.
 *   Throws AppError not_found for a run it does not know or whose output was removed.
 * - `onProgress`, where there is one, is called when a run that goes on has said how far it is, not for
 *   everything it said; after a restart, with the last that it said. `ended` has its last word.
 * - `attach`, where there is one, connects a client to a run whose request says so; the newest counts. It
 *   waits for one that has just begun. Executors without it fail such a run: "could-not-start".
 * - `probe`, where there is one, resolves when work can be started (again), and restores what it can
 *   for that; it throws an Error whose message says why not. After a "node-fault" nothing is started
 *   until it has resolved.
 * - `ahead`, where there is one, begins held runs itself: see AheadRuns.
 * - `close` stops watching and leaves the work running.
 */
export interface Executor {
  readonly name: string;
  readonly ahead?: AheadRuns;
  /** What it enforces of what runs ask for, and why not: entries of the subsystem "limits". */
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
  onProgress?(listener: (id: RunId, progress: ToldProgress) => void): void;
  attach?(id: RunId, events: AttachEvents): AttachedRun;
  probe?(): Promise<void>;
  close(): Promise<void>;
}
