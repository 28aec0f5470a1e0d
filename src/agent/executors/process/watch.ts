import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { Alarm } from "../../alarm.ts";
import type { ProcessIdentity } from "../../proc.ts";
import { isAlive } from "../../proc.ts";
import { cutOutput } from "../../runs/output.ts";
import type { ProcessRun } from "./run.ts";
import type { RunGroups } from "./cgroups/run-groups.ts";
import { type Sessions, sendWaking } from "./sessions.ts";
import type { Survivors } from "./survivors.ts";
import { send } from "./survivors.ts";
import type { StateFile } from "./state-file.ts";
import { lostStateFile } from "./state-file.ts";

export interface ProcessWatchOptions {
  readonly clock: Clock;
  /** Runs that have not ended. */
  readonly active: ReadonlySet<ProcessRun>;
  readonly sessions: Sessions;
  readonly survivors: Pick<Survivors, "of">;
  readonly groups: Pick<RunGroups, "pidsOf" | "kill">;
  isNative(key: string): boolean;
  directoryOf(key: string): string;
  readState(key: string): StateFile | undefined;
  /** Called once per look, before any state is read. */
  refresh(): void;
  /** A wrapper that claimed the run has recorded its identity. */
  onWrapperKnown(run: ProcessRun, file: StateFile): void;
  /** The wrapper that had claimed the run has ended. */
  onWrapperGone(run: ProcessRun, file: StateFile): void;
  onTimeLimit(run: ProcessRun): void;
  /** No process of a lingering run is left. */
  onDeserted(run: ProcessRun, file: StateFile): void;
  /** Called once per look, for other due work; returns when it wants to be called again. */
  alsoAt(nowMs: number): number | undefined;
}

/**
 * Polls everything that sends no event, with one alarm for all runs: wrappers that no starter of this process
 * watches, time limits, signals that are due, outputs that grow. A run that reports its own end and has no deadline
 * costs only the check of its output.
 */
export class Watch {
  readonly #options: ProcessWatchOptions;
  readonly #alarm: Alarm;
  readonly #alive = new Map<number, boolean>(); // within one look: thousands of runs may share a wrapper
  #nextCutAtMs = 0;
  #rest: (() => void) | undefined; // a pause after a look, as long as the look took
  #isAskedMeanwhile = false;

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.look());
  }

  /** The starter has just received the run. */
  begin(run: ProcessRun): void {
    const { startedAtMs, timeLimitMs } = run.terms;
    this.#alarm.wakeBy(Math.max(this.#nextCutAtMs, startedAtMs + 1));
    if (timeLimitMs !== undefined) this.#alarm.wakeBy(startedAtMs + timeLimitMs);
  }

  /**
   * Something has changed: looks soon, once for all changes of one turn. A look costs as much as there are runs and processes, so looks
   * take at most half of the time, however many changes there are.
   */
  lookSoon(): void {
    if (this.#rest === undefined) this.#alarm.wakeBy(this.#options.clock.nowMs());
    else this.#isAskedMeanwhile = true;
  }

  stop(): void {
    this.#alarm.stop();
    this.#rest?.();
  }

  look(): void {
    const { clock } = this.#options;
    const beginMs = clock.nowMs();
    this.#lookAt(beginMs);
    const tookMs = Math.min(clock.nowMs() - beginMs, limits.watchRestMsMax);
    if (tookMs <= 0) return;
    this.#rest?.();
    this.#rest = clock.after(tookMs, () => {
      this.#rest = undefined;
      if (!this.#isAskedMeanwhile) return;
      this.#isAskedMeanwhile = false;
      this.lookSoon();
    });
  }

  #lookAt(nowMs: number): void {
    const { active } = this.#options;
    this.#options.refresh();
    this.#alive.clear();
    for (const run of active) {
      this.checkWrapper(run, nowMs);
      this.#checkTimeLimit(run, nowMs);
    }
    this.#alive.clear();
    this.#settleLingering(nowMs);
    this.#sendSignals(nowMs);
    if (nowMs >= this.#nextCutAtMs) this.#cutOutputs(nowMs);
    const alsoAtMs = this.#options.alsoAt(nowMs);
    const nextMs = this.#nextLookAtMs(this.#options.clock.nowMs());
    this.#alarm.wakeBy(Math.min(nextMs, alsoAtMs ?? Number.POSITIVE_INFINITY));
  }

  checkWrapper(run: ProcessRun, nowMs: number): void {
    if (run.state.kind !== "running") return;
    const { wrapper } = run.state;
    if (wrapper.kind === "told") return;
    // Checked before the file is read: a wrapper writes its last line before it ends.
    const isWaiting = wrapper.kind === "adopted" && this.#isAnyAlive(wrapper.identities);
    if (wrapper.kind === "adopted" && !isWaiting) this.#options.refresh();
    const file = this.#fileOf(run);
    const hasOutcome = file?.outcome !== undefined;
    if (isWaiting && !hasOutcome) return; // a lane with an outcome no longer has the run
    if (wrapper.kind === "adopted") {
      this.#options.onWrapperGone(run, file ?? lostStateFile(wrapper.identities[0], nowMs));
    } else if (file === undefined) {
      return; // it has just been started
    } else if (file.wrapper !== undefined) {
      this.#options.onWrapperKnown(run, file);
    } else if (hasOutcome || nowMs - wrapper.sinceMs > limits.launcherStallMs) {
      this.#options.onWrapperGone(run, file);
    }
  }

  #fileOf(run: ProcessRun): StateFile | undefined {
    return this.#options.readState(run.key);
  }

  #isAnyAlive(identities: readonly ProcessIdentity[]): boolean {
    return identities.some((identity) => {
      const known = this.#alive.get(identity.pid);
      if (known !== undefined) return known;
      const found = isAlive(identity);
      this.#alive.set(identity.pid, found);
      return found;
    });
  }

  #checkTimeLimit(run: ProcessRun, nowMs: number): void {
    if (run.state.kind !== "running" || run.state.stop !== undefined || !run.hasBegun) return;
    const { startedAtMs, timeLimitMs } = run.terms;
    if (timeLimitMs === undefined || nowMs < startedAtMs + timeLimitMs) return;
    this.#options.onTimeLimit(run);
  }

  #settleLingering(nowMs: number): void {
    const lingering = new Map<ProcessRun, ProcessIdentity>();
    for (const run of this.#options.active) {
      if (run.state.kind === "lingering") lingering.set(run, run.state.session);
    }
    if (lingering.size === 0) return;
    const inhabited = this.#options.sessions.inhabited([...lingering.values()]);
    const survivors = this.#survivorsOf(lingering.keys());
    for (const [run, { pid }] of lingering) {
      const pids = survivors.get(run.key);
      if (pids !== undefined) this.#endSurvivors(run, pids, nowMs);
      if (inhabited.has(pid) || pids !== undefined) continue;
      this.#options.onDeserted(run, this.#fileOf(run) ?? lostStateFile(undefined, nowMs));
    }
  }

  #survivorsOf(runs: Iterable<ProcessRun>): Map<string, readonly number[]> {
    const grouped = new Map<string, readonly number[]>();
    const keys = new Set<string>(); // of runs without their own group
    for (const { key, terms } of runs) {
      if (terms.group === undefined) keys.add(key);
      else {
        const pids = this.#options.groups.pidsOf(terms.group);
        if (pids.length > 0) grouped.set(key, pids);
      }
    }
    const areNative = [...keys].every((key) => this.#options.isNative(key));
    return new Map([...grouped, ...this.#options.survivors.of(keys, areNative)]);
  }

  /** Processes that left the session before its signal came: they get their own TERM, then KILL like the others. */
  #endSurvivors(run: ProcessRun, pids: readonly number[], nowMs: number): void {
    if (run.state.kind !== "lingering") return;
    const isDue = nowMs >= run.state.stop.killAtMs;
    if (isDue && run.terms.group !== undefined) return this.#options.groups.kill(run.terms.group);
    run.warned ??= new Set();
    for (const pid of pids) {
      if (isDue) send(pid, "SIGKILL");
      else if (!run.warned.has(pid)) sendWaking(pid, "SIGTERM");
      run.warned.add(pid);
    }
  }

  /** TERM once; KILL again and again, as a dying process may still fork. */
  #sendSignals(nowMs: number): void {
    const term: ProcessIdentity[] = [];
    const kill: ProcessIdentity[] = [];
    const orphans: ProcessIdentity[] = [];
    for (const run of this.#options.active) {
      if (run.state.kind === "ended" || run.state.stop === undefined) continue;
      const { kind, stop } = run.state;
      const isDue = nowMs >= stop.killAtMs;
      if (!isDue && (stop.sent !== undefined || kind === "lingering")) continue;
      const session = kind === "lingering" ? run.state.session : this.#fileOf(run)?.session;
      if (session === undefined) continue; // it has not begun, and a recorded stop keeps it so
      run.state = { ...run.state, stop: { ...stop, sent: isDue ? "SIGKILL" : "SIGTERM" } };
      if (isDue && run.terms.group !== undefined) this.#options.groups.kill(run.terms.group);
      if (kind === "lingering") orphans.push(session);
      else (isDue ? kill : term).push(session);
    }
    if (term.length > 0) this.#options.sessions.signal(term, "SIGTERM");
    if (kill.length > 0) this.#options.sessions.signal(kill, "SIGKILL");
    if (orphans.length > 0) this.#options.sessions.killOrphans(orphans);
  }

  #cutOutputs(nowMs: number): void {
    for (const run of this.#options.active) {
      cutOutput(this.#options.directoryOf(run.key), run.terms.outputLimitBytes);
    }
    this.#nextCutAtMs = nowMs + limits.outputCheckIntervalMs;
  }

  #nextLookAtMs(nowMs: number): number {
    const { active } = this.#options;
    let atMs = active.size > 0 ? this.#nextCutAtMs : Number.POSITIVE_INFINITY;
    for (const run of active) atMs = Math.min(atMs, nextLookOf(run, nowMs));
    return atMs;
  }
}

/** The time when a run must be looked at again. */
function nextLookOf(run: ProcessRun, nowMs: number): number {
  if (run.state.kind === "ended") return Number.POSITIVE_INFINITY;
  const pollAtMs = nowMs + limits.processPollMs;
  if (run.state.kind === "lingering" || run.state.wrapper.kind !== "told") return pollAtMs;
  const { stop } = run.state;
  if (stop === undefined) {
    const { startedAtMs, timeLimitMs } = run.terms;
    return timeLimitMs === undefined || !run.hasBegun
      ? Number.POSITIVE_INFINITY
      : startedAtMs + timeLimitMs;
  }
  return stop.sent === "SIGTERM" ? stop.killAtMs : pollAtMs;
}
