import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type {
  EndedReport,
  Executor,
  RunEnd,
  RunId,
  RunReport,
  RunRequest,
} from "../../../ports/executor.ts";
import { Alarm } from "../../alarm.ts";
import { KEPT_BOUNDS } from "../../runs/ledger/kept-outputs.ts";
import { RunLedger } from "../../runs/ledger/run-ledger.ts";
import { parseRunKey, runKey } from "../../runs/run-key.ts";
import { wordsOf } from "./commands.ts";
import { KeptRuns } from "./kept-runs.ts";
import type { SentRun } from "./commands.ts";
import type { RemoteExecutorOptions } from "./remote-executor.ts";
import { RemoteMachine } from "./remote-machine.ts";
import type { RemoteRemains, StartCommand } from "./run.ts";
import { RemoteRun } from "./run.ts";
import type { RemoteRunTerms, RunFile } from "./run-file.ts";
import { isUnsettled, NO_TERMS, parseRunFile } from "./run-file.ts";
import { SentChains } from "./sent-chains.ts";
import { WorkDirectories } from "./work-directories.ts";

const NOTHING_LEFT: RemoteRemains = { kind: "nothing" };
const UNKNOWN_LEFT: RemoteRemains = { kind: "files", bytes: 0, isDirectoryClean: false };
const NOTHING_BEGAN = "its machine could not run it: no process started";

/** The runs of one remote executor: their states, and the steps between them. */
export class RemoteRuns {
  readonly #options: RemoteExecutorOptions;
  readonly #machine: RemoteMachine;
  /** No journal: the remote machine's disk holds the runs. */
  readonly #ledger: RunLedger<RemoteRun, RemoteRunTerms>;
  readonly #kept: KeptRuns;
  readonly #directories: WorkDirectories;
  readonly #chains: SentChains;
  readonly #alarm: Alarm;
  #isLooking = false;
  #isClosed = false;

  constructor(options: RemoteExecutorOptions) {
    this.#options = options;
    this.#machine = new RemoteMachine(options);
    this.#kept = new KeptRuns(options);
    this.#ledger = new RunLedger<RemoteRun, RemoteRunTerms>({
      ...options,
      keptBounds: options.keptBounds ?? KEPT_BOUNDS,
      firstEntry: "started",
      reportOf: ({ report }) => report,
      stopOf: () => undefined,
      onReplaced: () => undefined, // only the first start there runs, and reports the outcome
      onRemoved: (key) => this.#kept.remove(key),
    });
    this.#directories = new WorkDirectories(options.link);
    const isOver = (): boolean => this.#isOver;
    const parts = { machine: this.#machine, directories: this.#directories };
    this.#chains = new SentChains(options, parts, {
      runs: this.#ledger.runs,
      get isOver() {
        return isOver();
      },
      begun: (sent) => this.#adopt(sent),
      accepted: (run) => this.#running(run),
      answered: (run, lines, isWhole) => this.#answered(run, lines, isWhole),
      looked: (run, lines) => this.#looked(run, lines),
      notSent: (run, error) => this.#notSent(run, error),
    });
    this.#alarm = new Alarm(options.clock, () => void this.#look());
  }

  /** Finds the runs of earlier executors. */
  async recover(): Promise<void> {
    await this.#machine.install();
    for (const [key, lines] of await this.#settledSurvey()) {
      const id = parseRunKey(key);
      if (id === undefined) continue;
      const file = parseRunFile(lines, false);
      const isClaimed = file?.isOnlyClaimed === true;
      const found = isClaimed ? await this.#machine.bury(key, this.#nowMs) : file;
      if (found?.terms === undefined && found?.report === undefined) continue;
      this.#restore(id, found);
    }
    const inUse = Array.from(this.#ledger.runs.values(), ({ terms }) => terms.work ?? "");
    for (const [key, output] of await this.#kept.recover(new Set(inUse))) {
      this.#ledger.restoreKept(key, output);
    }
    this.#ledger.removeSurplus(this.#nowMs);
    await this.#kept.write();
  }

  #restore(id: RunId, { terms = NO_TERMS, report, startedAtMs }: RunFile): void {
    const state =
      report === undefined
        ? ({ kind: "found", claimedSinceMs: undefined } as const)
        : ({ kind: "ended", report, left: UNKNOWN_LEFT } as const);
    const run = new RemoteRun(id, terms, limits.killGraceMsDefault, state);
    run.startedAt(startedAtMs);
    this.#ledger.restore(run);
    if (report === undefined) this.#watch(run);
  }

  /** A start of the previous link may just be beginning: given time, it records its identity. */
  async #settledSurvey(): Promise<ReadonlyMap<string, readonly string[]>> {
    const first = await this.#machine.survey([], this.#nowMs);
    if (![...first.values()].some(isUnsettled)) return first;
    await new Promise<void>((resolve) => {
      this.#options.clock.after(limits.claimTimeoutMs, resolve);
    });
    return this.#machine.survey([], this.#nowMs);
  }

  get #nowMs(): number {
    return this.#options.clock.nowMs();
  }

  /** Writes the start scripts there again, and runs some of them. */
  async probe(): Promise<void> {
    await this.#machine.install();
    await this.#machine.survey([], this.#nowMs);
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (!this.#ledger.canAccept(key)) return;
    this.#kept.spare(key);
    const sent = this.#chains.begin(key);
    if (sent !== undefined) return void this.#adopt(sent);
    const terms = this.#chains.termsFor(request);
    try {
      wordsOf(this.#options.place, { key, terms, request });
    } catch (error) {
      return this.#reject(request, terms, describeChain(error));
    }
    const start: StartCommand = { request, attempt: "first" };
    const run = new RemoteRun(request.id, terms, request.killGraceMs, { kind: "sent", start });
    this.#ledger.accept(run);
    this.#chains.send(run, start);
    this.#watch(run);
  }

  /** The server starts a run that was sent ahead in a chain, or the run has begun by itself. */
  #adopt({ terms, request }: SentRun): RemoteRun {
    const start: StartCommand = { request, attempt: "first" };
    const run = new RemoteRun(request.id, terms, request.killGraceMs, { kind: "sent", start });
    run.sent(this.#nowMs);
    this.#ledger.accept(run);
    this.#watch(run);
    return run;
  }

  hold(request: RunRequest): void {
    if (this.#ledger.canAccept(runKey(request.id))) this.#chains.hold(request);
  }

  next(ended: RunId): RunId | undefined {
    return this.#chains.next(ended);
  }

  release(id: RunId): Promise<boolean> {
    return this.#chains.release(id);
  }

  /** Before it is sent. */
  #reject(request: RunRequest, terms: RemoteRunTerms, message: string): void {
    const end = { kind: "could-not-start", message } as const;
    const report = { kind: "ended", startedAtMs: undefined, endedAtMs: this.#nowMs, end } as const;
    const state = { kind: "ended", report, left: NOTHING_LEFT } as const;
    const run = new RemoteRun(request.id, terms, request.killGraceMs, state);
    this.#ledger.accept(run);
    this.#ledger.end(run, report);
  }

  stop(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run === undefined || run.state.kind === "ended" || run.state.kind === "stopping") return;
    run.move({ kind: "stopping" });
    void this.#stop(run);
  }

  forget(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run?.state.kind !== "ended") return;
    const { left } = run.state;
    const [bytes, isDirectoryClean] =
      left.kind === "files" ? [left.bytes, left.isDirectoryClean] : [0, false];
    // Runs have their output limits in their own files.
    this.#ledger.forget(run, { forgottenAtMs: this.#nowMs, bytes, outputLimitBytes: 0 });
    this.#kept.forget(run.key, isDirectoryClean ? undefined : run.terms.work);
  }

  known(): ReturnType<Executor["known"]> {
    return this.#ledger.known();
  }

  hasNothingThere(id: RunId): boolean {
    const state = this.#ledger.runs.get(runKey(id))?.state;
    return state?.kind === "ended" && state.left.kind === "nothing";
  }

  isActive(id: RunId): boolean {
    const run = this.#ledger.runs.get(runKey(id));
    return run !== undefined && this.#ledger.active.has(run);
  }

  onReport(listener: (id: RunId, report: RunReport) => void): void {
    this.#ledger.onReport(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#alarm.stop();
    this.#ledger.close();
    await this.#kept.close();
  }

  #notSent(run: RemoteRun, error: unknown): void {
    const known = AppError.from(error, "send it to its machine");
    // A link that has ended, or is busy now, gives no information about the run.
    if (known.code !== "invalid_argument") return;
    this.#refuse(run, { kind: "could-not-start", message: describeChain(known) });
  }

  /** The answer may contain the end; if not, the executor polls the run. */
  #answered(run: RemoteRun, lines: readonly string[], isWhole: boolean): void {
    const { state } = run;
    // While it is being stopped, other processes of its session may still have their grace period.
    if (state.kind === "stopping" || state.kind === "ended") return;
    if (state.kind === "sent") run.move({ kind: "answered", start: state.start });
    else if (state.kind === "seen") run.move({ ...state, kind: "found" });
    const file = parseRunFile(lines, false);
    if (file?.report !== undefined) {
      if (isWhole) this.#options.onHeads?.(run.id, file.heads);
      this.#ended(run, file.report, file);
    } else if (state.kind !== "installing") void this.#lookAt([run]);
  }

  async #stop(run: RemoteRun): Promise<void> {
    const { clock } = this.#options;
    try {
      const file = await this.#machine.stop(run, clock.nowMs());
      if (file?.report !== undefined) return this.#ended(run, file.report, file);
    } catch (error) {
      if (this.#isOver) return;
      this.#warn("could not stop a run; trying again", run, error);
    }
    clock.after(limits.remoteRetryMs, () => {
      if (!this.#isOver && run.state.kind === "stopping") void this.#stop(run);
    });
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#options.shell.closed.aborted;
  }

  #watch(run: RemoteRun): void {
    run.isFollowed = this.#chains.followersOf(run.key).length > 0;
    run.heard(this.#nowMs);
    this.#alarm.wakeBy(run.lookAtMs);
  }

  /** Polls runs that were silent for a while. One poll at a time, however long it takes. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { active } = this.#ledger;
    const nowMs = this.#nowMs;
    const due = [...active].filter(({ lookAtMs }) => nowMs >= lookAtMs);
    for (let at = 0; at < due.length && !this.#isOver; at += limits.remoteSurveyRunsMax) {
      await this.#lookAt(due.slice(at, at + limits.remoteSurveyRunsMax));
    }
    this.#isLooking = false;
    if (this.#isOver) return;
    for (const { patienceMs } of active) this.#alarm.wakeBy(this.#nowMs + patienceMs);
  }

  async #lookAt(runs: readonly RemoteRun[]): Promise<void> {
    const followers = runs.flatMap(({ key }) => this.#chains.followersOf(key));
    try {
      const survey = await this.#machine.survey([...runs, ...followers], this.#nowMs);
      for (const run of runs) this.#looked(run, survey.get(run.key));
      // A run that follows in a chain has begun when its files say so: before that, its chain may be shut.
      for (const { key } of followers) {
        const lines = survey.get(key);
        if (lines === undefined || isUnsettled(lines)) continue;
        const sent = this.#chains.begin(key);
        const run = this.#ledger.runs.get(key) ?? (sent && this.#adopt(sent));
        if (run !== undefined) this.#looked(run, lines);
      }
    } catch (error) {
      if (this.#isOver) return;
      for (const run of runs)
        this.#warn("could not read the state of a run; trying again", run, error);
      this.#alarm.wakeBy(this.#nowMs + limits.remoteSurveyMs);
    }
  }

  /** `lines`: its machine's record of it. */
  #looked(run: RemoteRun, lines: readonly string[] | undefined): void {
    const { state } = run;
    if (state.kind === "stopping" || state.kind === "ended") return;
    if (lines === undefined) return this.#missing(run);
    const nowMs = this.#nowMs;
    run.isFollowed = this.#chains.followersOf(run.key).length > 0;
    run.heard(nowMs);
    const file = parseRunFile(lines, false);
    run.startedAt(file?.startedAtMs);
    const isClaimed = file?.isOnlyClaimed === true;
    // It begins in a moment, or its chain was shut and its files are removed.
    if (!isClaimed && isUnsettled(lines)) return;
    const before = "claimedSinceMs" in state ? state.claimedSinceMs : undefined;
    const claimedSinceMs = isClaimed ? (before ?? nowMs) : before;
    const isAnswerDue = state.kind === "sent" || state.kind === "seen";
    run.move({ kind: isAnswerDue ? "seen" : "found", claimedSinceMs });
    if (file?.report !== undefined) return this.#ended(run, file.report, file);
    if (!isClaimed) return this.#running(run);
    if (nowMs - (claimedSinceMs ?? nowMs) < limits.claimTimeoutMs) return;
    void this.#machine.bury(run.key, nowMs).then(
      (buried) => buried?.report && this.#ended(run, buried.report, buried),
      (error: unknown) => this.#warn("could not withdraw a run; trying again", run, error),
    );
  }

  /**
   * Its machine has no files of it. If it never had any, the run did not begin, and may be sent again.
   * Otherwise its files were removed, and the run may be active: the executor waits for its end.
   */
  #missing(run: RemoteRun): void {
    const { state } = run;
    switch (state.kind) {
      case "sent":
        if (this.#nowMs - run.sentAtMs < limits.remoteSurveyMs) return run.heard(this.#nowMs);
        return this.#chains.sendAgain(run, state.start);
      case "answered":
        return void this.#sendOnceMore(run, state.start);
      case "found": {
        const end = { kind: "vanished", message: "its files on its machine were removed" } as const;
        const { sentAtMs: startedAtMs } = run.terms;
        return this.#ended(run, { kind: "ended", startedAtMs, endedAtMs: this.#nowMs, end });
      }
      case "installing":
      case "seen":
      case "stopping":
      case "ended":
    }
  }

  /** The start scripts may have been removed there. */
  async #sendOnceMore(run: RemoteRun, { request, attempt }: StartCommand): Promise<void> {
    if (attempt === "second") {
      return this.#refuse(run, { kind: "node-fault", message: NOTHING_BEGAN });
    }
    run.move({ kind: "installing" });
    try {
      await this.#machine.install();
    } catch (error) {
      if (this.#isOver) return;
      const message = `${NOTHING_BEGAN}: ${describeChain(error)}`;
      return this.#refuse(run, { kind: "node-fault", message });
    }
    if (run.state.kind !== "installing") return;
    const start: StartCommand = { request, attempt: "second" };
    run.move({ kind: "sent", start });
    this.#chains.sendAgain(run, start);
  }

  #running(run: RemoteRun): void {
    run.heard(this.#nowMs);
    if (!run.begin()) return;
    // After the report of the end of the run before it, which also waits for the journal.
    this.#ledger.after(() => run.state.kind !== "ended" && this.#ledger.notify(run));
  }

  #refuse(run: RemoteRun, end: RunEnd): void {
    this.#ended(run, { kind: "ended", startedAtMs: undefined, endedAtMs: this.#nowMs, end });
  }

  #ended(run: RemoteRun, report: EndedReport, file?: RunFile): void {
    if (run.state.kind === "ended") return;
    run.move({ kind: "ended", report, left: file === undefined ? UNKNOWN_LEFT : leftOf(file) });
    if (file?.isClean === true && run.terms.work !== undefined) {
      this.#directories.giveBack(run.terms.work);
    }
    this.#chains.ended(run);
    this.#ledger.end(run, report);
  }

  #warn(text: string, { key }: RemoteRun, error: unknown): void {
    this.#options.logger.warn({ run: key, error: describeChain(error) }, text);
  }
}

const leftOf = ({ bytes, isClean }: RunFile): RemoteRemains => ({
  kind: "files",
  bytes,
  isDirectoryClean: isClean,
});
