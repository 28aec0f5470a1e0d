import { describeChain } from "../../../lib/errors.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import { State, type Task, type WatchEvent } from "../../../gen/busbar/v1/busbar_pb.ts";
import type {
  EndedReport,
  Executor,
  QueuedRuns,
  RunEnd,
  RunId,
  RunRequest,
} from "../../../ports/executor.ts";
import { Alarm } from "../../alarm.ts";
import { runKey } from "../../runs/run-key.ts";
import { Canceller } from "./canceller.ts";
import { KeptSpecs } from "./kept-specs.ts";
import type { SiteTerms } from "./lower-spec.ts";
import { idempotencyKeyOf, toLowerSpec } from "./lower-spec.ts";
import { RunLooks } from "./run-looks.ts";
import type { SiteApi } from "./site-api.ts";
import { openSiteLedger, type SiteLedger, type SiteLedgerOptions } from "./site-ledger.ts";
import { SiteOutput } from "./site-output.ts";
import type { SiteRunTerms } from "./site-run.ts";
import { SiteRun } from "./site-run.ts";
import { watchSite } from "./site-watch.ts";
import { SiteSubmissions } from "./submissions.ts";
import { type EndTerms, newsOf, type TaskNews } from "./task-news.ts";
import { hasFailed, newsOfShare } from "./energy/share-news.ts";

export interface SiteRunsOptions extends SiteTerms, SiteLedgerOptions {
  readonly api: SiteApi;
}

const NO_TASKS = { tasks: [] };

type ProgressListener = Parameters<NonNullable<Executor["onProgress"]>>[0];

/** Runs from above, each as a job of the Busbar below, whose watch reports their states. */
export class SiteRuns {
  readonly #options: SiteRunsOptions;
  readonly #ledger: SiteLedger;
  readonly #specs: KeptSpecs;
  readonly #submissions: SiteSubmissions;
  readonly #canceller: Canceller;
  readonly #looks: RunLooks;
  readonly #outputs: SiteOutput;
  readonly #progressListeners: ProgressListener[] = [];
  readonly #surplus: Alarm;
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;
  /** Runs that have not ended, by their tasks below. */
  readonly #byTask = new Map<string, SiteRun>();
  /** Events of tasks that may belong to a submission whose answer is on its way. */
  readonly #early = new Map<string, Task>();

  constructor(options: SiteRunsOptions) {
    const { directory, api, clock, logger, cluster: site, group } = options;
    const { signal } = this.#over;
    this.#options = options;
    this.#specs = new KeptSpecs(directory);
    this.#ledger = openSiteLedger(options, this.#specs);
    const parts = { api, clock, logger, signal };
    this.#submissions = new SiteSubmissions({
      ...parts,
      group,
      specs: this.#specs,
      onSubmitted: (taken, isNew) => this.#submitted(taken, isNew),
      onRefused: (run, message) => this.#end(run, { kind: "could-not-start", message }),
      onStopped: (run) => this.#end(run, { kind: "stopped", signal: undefined }),
    });
    const onMissing = (run: SiteRun): void => this.#missing(run);
    this.#canceller = new Canceller({ ...parts, site, onMissing });
    this.#looks = new RunLooks({
      ...parts,
      active: () => this.#ledger.active,
      look: (run, id) => this.#look(run, id),
      onMissing,
    });
    this.#outputs = new SiteOutput(api, clock, (key) => this.#ownerOf(key));
    this.#surplus = new Alarm(clock, () => this.#removeSurplus());
    for (const run of this.#ledger.active) this.#resume(run);
    this.#removeSurplus();
    this.#watching = watchSite(
      {
        ...parts,
        what: { group, tasks: true },
        onEvent: (event) => this.#onEvent(event),
        onBeginning: () => this.#looks.lookAtAll(),
      },
      signal,
    );
  }

  #resume(run: SiteRun): void {
    const { taskId } = run.terms;
    if (taskId === undefined) return this.#submissions.add(run);
    this.#byTask.set(taskId, run);
    if (run.stop !== undefined) this.#canceller.add(run);
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (!this.#ledger.canAccept(key)) return;
    const { arrayIndex, killGraceMs, outputLimitBytes, shareWattSeconds } = request;
    const submitKey = idempotencyKeyOf(request, this.#options);
    const share = shareWattSeconds === undefined ? undefined : { shareWattSeconds };
    const terms: SiteRunTerms = { submitKey, arrayIndex, killGraceMs, outputLimitBytes, ...share };
    const run = new SiteRun(request.id, key, terms, "waiting");
    try {
      if (this.#ledger.isFull) throw new Error("the agent has too many runs");
      run.terms = { ...terms, spec: this.#specs.keep(toLowerSpec(request, this.#options)) };
      this.#ledger.accept(run);
    } catch (error) {
      this.#ledger.accept(run);
      this.#end(run, { kind: "could-not-start", message: describeChain(error) });
      return;
    }
    this.#ledger.after((failure) => {
      if (failure === undefined) this.#submissions.add(run);
      else this.#end(run, { kind: "node-fault", message: describeChain(failure) });
    });
  }

  stop(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run === undefined || run.ended !== undefined || run.stop !== undefined) return;
    run.stop = this.#ledger.orderStop(run, "stopped", run.terms.killGraceMs);
    this.#ledger.after(() => {
      if (run.at === "below") this.#canceller.add(run);
      else this.#submissions.wake();
    });
  }

  forget(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run?.ended === undefined) return;
    const { terms } = run;
    const forgottenAtMs = this.#options.clock.nowMs();
    const { outputLimitBytes } = terms;
    this.#ledger.forget(run, { forgottenAtMs, bytes: 0, outputLimitBytes, terms });
    this.#surplus.wakeBy(forgottenAtMs + limits.siteSweepMs);
  }

  /** Whether the run is a share of a job with energy; false for an unknown run. */
  isShare(id: RunId): boolean {
    return this.#ledger.runs.get(runKey(id))?.terms.shareWattSeconds !== undefined;
  }

  /** Shares that have not ended, and how many of them are queued below. */
  shares(): { readonly active: number; readonly waiting: number } {
    const active = [...this.#ledger.active].filter(({ id }) => this.isShare(id));
    const waiting = active.filter(({ at, isQueued }) => at !== "below" || isQueued);
    return { active: active.length, waiting: waiting.length };
  }

  known(): ReturnType<Executor["known"]> {
    return this.#ledger.known();
  }

  queued(): readonly RunId[] {
    return this.#ledger.queued().map(({ id }) => id);
  }

  whyQueued(): readonly QueuedRuns[] {
    const byReason = Map.groupBy(this.#ledger.queued(), ({ at, reason }) => {
      const unknown = at === "below" ? "no reason reported yet" : "it is being submitted";
      return `busbar: ${reason ?? unknown}`;
    });
    return Array.from(byReason, ([reason, runs]) => ({ reason, runs: runs.map(({ id }) => id) }));
  }

  onProgress(listener: ProgressListener): void {
    this.#progressListeners.push(listener);
    for (const run of this.#ledger.active) this.#tellProgress(run);
  }

  onReport(listener: Parameters<Executor["onReport"]>[0]): void {
    this.#ledger.onReport(listener);
  }

  readOutput: Executor["readOutput"] = (id, stream, how) =>
    this.#outputs.read(runKey(id), stream, how);

  /** False when it was called before. */
  async close(): Promise<boolean> {
    if (!this.#ledger.close()) return false;
    this.#over.abort();
    this.#submissions.close();
    this.#canceller.close();
    this.#looks.close();
    this.#surplus.stop();
    this.#outputs.close();
    await this.#watching;
    return true;
  }

  #submitted(taken: readonly (readonly [SiteRun, string])[], isNew: boolean): void {
    const ids = taken.map(([run, jobId]): readonly [string, string] => {
      const { arrayIndex, spec } = run.terms;
      const taskId = arrayIndex === undefined ? jobId : `${jobId}.${arrayIndex}`;
      run.terms = { ...run.terms, taskId, spec: undefined };
      run.at = "below";
      run.reason = undefined;
      if (spec !== undefined) this.#specs.release(spec);
      this.#byTask.set(taskId, run);
      return [run.key, taskId];
    });
    this.#ledger.note({ kind: "submitted", ids });
    for (const [run] of taken) {
      const early = this.#early.get(run.terms.taskId ?? "");
      this.#early.delete(run.terms.taskId ?? "");
      if (early !== undefined) this.#hear(run, newsOf(early, this.#endTerms(run)));
      if (run.stop !== undefined) this.#canceller.add(run);
    }
    if (!this.#submissions.isBusy) this.#early.clear();
    for (const [run] of taken) if (this.isShare(run.id)) this.#looks.lookAtShare(run);
    if (isNew) this.#looks.lookSoon();
    else this.#looks.lookAtAll(); // its events came before the agent watched
  }

  #onEvent({ event }: WatchEvent): void {
    if (event.case !== "task") return;
    const task = event.value;
    const share = this.#byTask.get(task.jobId);
    if (share?.terms.shareWattSeconds !== undefined) return this.#looks.lookAtShare(share);
    const run = this.#byTask.get(task.id);
    if (run !== undefined) return this.#hear(run, newsOf(task, this.#endTerms(run)));
    // The group may have any number of other jobs.
    if (this.#early.size >= limits.siteEarlyMax) this.#looks.lookAtAll();
    if (this.#early.size >= limits.siteEarlyMax || !this.#submissions.isBusy) this.#early.clear();
    if (this.#submissions.isBusy) this.#early.set(task.id, task);
  }

  async #look(run: SiteRun, id: string): Promise<void> {
    const { api } = this.#options;
    const { signal } = this.#over;
    const { shareWattSeconds: share } = run.terms;
    if (share === undefined) {
      this.#hear(run, newsOf(await api.getTask({ id }, { signal }), this.#endTerms(run)));
    } else {
      const job = await api.getJob({ id }, { signal });
      const states = [State.FAILED];
      const { tasks } = hasFailed(job)
        ? await api.listTasks({ jobId: id, states }, { signal })
        : NO_TASKS;
      this.#hear(run, newsOfShare(job, share, this.#endTerms(run), tasks));
    }
  }

  #endTerms({ stop }: SiteRun): EndTerms {
    return { site: this.#options.cluster, isStopped: stop !== undefined };
  }

  /** The same event may come again. */
  #hear(run: SiteRun, news: TaskNews): void {
    if (run.ended !== undefined) return;
    const { clock } = this.#options;
    if (news.kind === "ended") {
      const { startedAtMs = run.startedAtMs, endedAtMs = clock.nowMs(), end, usage } = news;
      this.#begun(run, startedAtMs, false);
      this.#end(run, end, { endedAtMs, usage, progress: news.progress ?? run.progress });
      return;
    }
    const wasQueued = run.isQueued;
    run.isQueued = news.kind === "queued";
    if (news.kind === "queued" && !wasQueued) this.#looks.lookSoon();
    if (news.kind !== "running") return;
    run.lookedAtMs = clock.nowMs();
    this.#begun(run, news.startedAtMs, true);
    if (news.progress === undefined || isDeepEqual(news.progress, run.progress)) return;
    run.progress = news.progress;
    this.#ledger.after(() => this.#tellProgress(run));
  }

  #tellProgress({ id, ended, progress }: SiteRun): void {
    if (ended !== undefined || progress === undefined) return;
    for (const listener of this.#progressListeners) listener(id, progress);
  }

  #begun(run: SiteRun, startedAtMs: number | undefined, isTold: boolean): void {
    if (startedAtMs === undefined || run.startedAtMs !== undefined) return;
    run.startedAtMs = startedAtMs;
    run.reason = undefined;
    this.#ledger.note({ kind: "began", key: run.key, startedAtMs });
    this.#outputs.changed(run.key);
    if (!isTold) return;
    this.#ledger.after(() => {
      if (run.ended === undefined) this.#ledger.notify(run);
    });
  }

  #missing(run: SiteRun): void {
    if (run.ended !== undefined) return;
    const message = `the Busbar of site ${this.#options.cluster} has no record of it`;
    const isStopped = run.stop !== undefined;
    this.#end(
      run,
      isStopped ? { kind: "stopped", signal: undefined } : { kind: "vanished", message },
    );
  }

  #end(
    run: SiteRun,
    end: RunEnd,
    { endedAtMs = this.#options.clock.nowMs(), usage, progress }: EndDetails = {},
  ): void {
    if (run.ended !== undefined) return;
    const { startedAtMs } = run;
    const { taskId, spec } = run.terms;
    run.ended = {
      kind: "ended",
      startedAtMs,
      endedAtMs: Math.max(endedAtMs, startedAtMs ?? 0),
      end,
      ...(usage && { usage }),
      ...(progress && { progress }),
    };
    if (taskId !== undefined) this.#byTask.delete(taskId);
    if (spec !== undefined) this.#specs.release(spec);
    run.terms = { ...run.terms, spec: undefined };
    this.#ledger.end(run, run.ended);
    this.#outputs.changed(run.key);
  }

  #ownerOf(key: string): ReturnType<ConstructorParameters<typeof SiteOutput>[2]> {
    const run = this.#ledger.runs.get(key);
    if (run !== undefined) {
      const { ended, startedAtMs, terms } = run;
      const hasBegun = startedAtMs !== undefined;
      const isShare = terms.shareWattSeconds !== undefined;
      return { taskId: terms.taskId, isShare, hasBegun, hasEnded: ended !== undefined };
    }
    const { taskId, shareWattSeconds } = this.#ledger.kept.get(key)?.terms ?? {};
    const isShare = shareWattSeconds !== undefined;
    return taskId === undefined ? undefined : { taskId, isShare, hasBegun: true, hasEnded: true };
  }

  #removeSurplus(): void {
    const nextMs = this.#ledger.removeSurplus(this.#options.clock.nowMs());
    if (nextMs !== undefined) this.#surplus.wakeBy(nextMs);
  }
}

type EndDetails = Partial<Pick<EndedReport, "endedAtMs" | "usage" | "progress">>;
