import { renameSync } from "node:fs";
import { join } from "node:path";

import { describeChain } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Clock } from "../../../../ports/clock.ts";
import type { Logger } from "../../../../ports/logger.ts";
import { describeMachineFault } from "../../../runs/machine-fault.ts";
import { isOnTheWay, type LaunchLogs } from "./launch-logs.ts";
import type { RecordLine } from "./launch-record.ts";
import { NativeLauncher } from "./native-launcher.ts";
import { type Gone, type Launch, type ProcessStarter, STOPPED } from "./starter.ts";

export interface NativeStarterOptions {
  /** The compiled launcher.c. */
  readonly program: string;
  readonly logs: LaunchLogs;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes over when launchers do not start, or lose the same launch again and again. */
  readonly fallback: ProcessStarter;
  readonly stallMs?: number | undefined;
}

interface Pending {
  readonly launch: Launch;
  readonly onGone: (gone: Gone) => void;
  readonly onStarted: (atMs: number | undefined) => void;
  attempt: number;
  slot: string;
  hasStarted: boolean;
}

interface Worker {
  readonly launcher: NativeLauncher;
  readonly pending: Map<string, Pending>;
  /** Number of `pending` launches that the launcher has not acknowledged. */
  unacknowledged: number;
  heardAtMs: number;
}

/**
 * Starts commands by a few native launchers (launcher.c).
 *
 * - A launcher has a bounded number of launches that it has not acknowledged. The rest waits here,
 *   where a stop removes it at once. So the machine sets the pace.
 * - The starter gives up a launcher that has ended, or that owes acknowledgements and has sent nothing
 *   for a long time. It never kills one: first it prevents further launches (LaunchLog.close), then it
 *   reads from the record which launches have begun. Those continue; the others go to another launcher.
 */
export class NativeStarter implements ProcessStarter {
  readonly #options: NativeStarterOptions;
  readonly #queue = new Map<string, Pending>();
  #workers: Worker[] = []; // that accept launches
  readonly #retired = new Set<Worker>(); // that only report
  #failures = 0; // launchers in a row that never started
  #isClosed = false;
  #cancelCheck: (() => void) | undefined;

  constructor(options: NativeStarterOptions) {
    this.#options = options;
    this.#fill();
  }

  start(
    launch: Launch,
    onGone: (gone: Gone) => void,
    onStarted: (atMs: number | undefined) => void,
  ): void {
    const pending = { launch, onGone, onStarted, attempt: 1, slot: "", hasStarted: false };
    this.#queue.set(launch.key, pending);
    this.#pump();
  }

  cancel(key: string): boolean {
    const pending = this.#queue.get(key);
    if (pending === undefined) return this.#options.fallback.cancel(key);
    this.#queue.delete(key);
    this.#tell(pending, STOPPED);
    return true;
  }

  recycle(directory: string): boolean {
    const poorest = least(this.#workers, ({ launcher }) => launcher.spares)?.launcher;
    if (poorest === undefined || poorest.spares >= limits.launcherSparesMax) return false;
    const slot = poorest.takeNewSlot();
    try {
      renameSync(directory, join(poorest.log.directory, slot));
    } catch {
      return false;
    }
    poorest.addSpare(slot);
    return true;
  }

  /** Launchers hold their directories open; the old ones continue with their launches. */
  renew(): void {
    this.#failures = 0;
    for (const worker of this.#workers) if (!worker.launcher.log.isThere) this.#retire(worker);
    this.#options.fallback.renew?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    for (const { launcher } of [...this.#workers, ...this.#retired]) {
      launcher.close();
      this.#options.logs.leave(launcher.log);
    }
    this.#options.fallback.close();
  }

  /** Passes launches to launchers that accept more. */
  #pump(): void {
    this.#fill();
    for (const [key, pending] of this.#queue) {
      if (this.#workers.length === 0 || pending.attempt > limits.launchAttemptsMax) {
        this.#queue.delete(key);
        this.#options.fallback.start(pending.launch, pending.onGone, pending.onStarted);
        continue;
      }
      const worker = least(this.#workers, ({ unacknowledged }) => unacknowledged)!;
      if (worker.unacknowledged >= limits.launchesUnacknowledgedMax) return;
      this.#queue.delete(key);
      this.#hand(worker, pending);
    }
  }

  #hand(worker: Worker, pending: Pending): void {
    const { launch } = pending;
    const { launcher } = worker;
    const slot = launcher.takeSlot();
    try {
      launcher.launch(launch, slot);
    } catch (error) {
      launcher.addSpare(slot);
      this.#tell(pending, { kind: "could-not-start", message: describeChain(error) });
      return;
    }
    this.#options.logs.expect(launcher.log, launch.key, slot);
    pending.slot = slot;
    pending.hasStarted = false;
    if (worker.unacknowledged === 0) worker.heardAtMs = this.#options.clock.nowMs();
    worker.unacknowledged += 1;
    worker.pending.set(launch.key, pending);
    if (launcher.launches >= limits.launchesPerLauncherMax) this.#retire(worker);
    this.#checkLater();
  }

  /** Never from within `start`. */
  #tell({ onGone }: Pending, gone: Gone): void {
    queueMicrotask(() => {
      if (!this.#isClosed) onGone(gone);
    });
  }

  #fill(): void {
    const wanted = this.#failures < limits.launchAttemptsMax ? limits.launchersMax : 0;
    try {
      while (this.#workers.length < wanted && !this.#isClosed) this.#addWorker();
    } catch (error) {
      // The fallback reports the error of each launch that it cannot start.
      this.#options.logger.warn({ error: describeChain(error) }, "could not start a launcher");
      this.#failures += 1;
    }
  }

  #addWorker(): void {
    const { program, env, logs, clock } = this.#options;
    const launcher: NativeLauncher = new NativeLauncher({
      program,
      env,
      log: logs.create(),
      onLines: (lines) => this.#onLines(worker, lines),
      onGone: (how) => this.#onLauncherGone(worker, how),
      onKeeperGone: () => this.#retire(worker),
    });
    const heardAtMs = clock.nowMs();
    const worker: Worker = { launcher, pending: new Map(), unacknowledged: 0, heardAtMs };
    this.#workers.push(worker);
  }

  #onLines(worker: Worker, lines: readonly RecordLine[]): void {
    if (this.#isClosed) return;
    worker.heardAtMs = this.#options.clock.nowMs();
    for (const line of lines) this.#onLine(worker, line);
    this.#pump();
  }

  #onLine(worker: Worker, line: RecordLine): void {
    const { launcher } = worker;
    launcher.log.apply(line);
    if (line.kind === "launcher") {
      launcher.isReady = true;
      this.#failures = 0;
    }
    if (line.kind !== "started" && line.kind !== "ended" && line.kind !== "refused") return;
    const pending = worker.pending.get(line.key);
    if (pending === undefined) return;
    this.#acknowledge(worker, pending);
    if (line.kind === "started") {
      pending.onStarted(line.atMs);
      return;
    }
    worker.pending.delete(line.key);
    if (line.kind === "refused") {
      const message = describeMachineFault(line.errno, launcher.log.directory);
      pending.onGone({ kind: "node-fault", message });
    } else {
      this.#onEnd(worker, pending, line);
    }
  }

  #acknowledge(worker: Worker, pending: Pending): void {
    if (pending.hasStarted) return;
    pending.hasStarted = true;
    worker.unacknowledged -= 1;
  }

  #onEnd(worker: Worker, pending: Pending, line: Extract<RecordLine, { kind: "ended" }>): void {
    const { launcher } = worker;
    const { key } = pending.launch;
    const run = launcher.log.runs.get(key);
    const isStopMarked = run?.isStopMarked ?? false;
    const { outcome, outputBytes, atMs: endedAtMs, usage } = line;
    if (!isStopMarked && outcome.kind === "not-executed" && outcome.why === "stopped") {
      // The launch was prevented: its launcher was given up, or another agent took over.
      if (this.#retired.has(worker)) this.#handAgain(pending);
      else pending.onGone({ kind: "node-fault", message: "its launcher was closed" });
      return;
    }
    const hasFiles = run?.hasFiles ?? true;
    const isClean = line.isClean && !isStopMarked;
    // Only now, because a stop reads from the log.
    pending.onGone({ kind: "ended", outcome, outputBytes, isClean, hasFiles, endedAtMs, usage });
    if (hasFiles) return;
    this.#options.logs.drop(key);
    launcher.addSpare(pending.slot);
  }

  /** The launcher accepts no more launches; it begins those that it has, and reports their ends. */
  #retire(worker: Worker): void {
    if (!this.#workers.includes(worker)) return;
    this.#workers = this.#workers.filter((other) => other !== worker);
    this.#retired.add(worker);
    worker.launcher.retire();
    if (!this.#isClosed) queueMicrotask(() => this.#pump());
  }

  #onLauncherGone(worker: Worker, how: string): void {
    if (this.#isClosed) return;
    const { launcher, pending } = worker;
    const isExpected = this.#retired.delete(worker) && pending.size === 0;
    if (!isExpected) this.#options.logger.warn({ how }, "a launcher exited and is replaced");
    if (!launcher.isReady) this.#failures += 1;
    this.#workers = this.#workers.filter((other) => other !== worker);
    launcher.log.close();
    this.#settleGone(worker);
    this.#pump();
  }

  /** Its record shows which launches began. */
  #settleGone(worker: Worker): void {
    const { logs, clock } = this.#options;
    const { log } = worker.launcher;
    log.read();
    const runs = [...worker.pending.keys()].map((key) => log.runs.get(key));
    if (runs.some((run) => run !== undefined && isOnTheWay(run))) {
      clock.after(limits.processPollMs / 10, () => {
        if (!this.#isClosed) this.#settleGone(worker);
      });
      return;
    }
    // A launcher that gave up since the first look has recorded it by now; its ends are read from now on.
    logs.unhear(log);
    for (const [key, pending] of worker.pending) {
      const file = logs.read(key);
      const { outcome } = file ?? {};
      const isKept = outcome?.kind === "not-executed" && outcome.why === "stopped";
      if (file === undefined || isKept) this.#handAgain(pending);
      else pending.onGone({ kind: "gone", how: "its launcher exited" });
    }
    worker.pending.clear();
    this.#pump();
  }

  #handAgain(pending: Pending): void {
    const { key } = pending.launch;
    const isStopMarked = this.#options.logs.isStopMarked(key);
    this.#options.logs.drop(key);
    if (isStopMarked) {
      this.#tell(pending, STOPPED);
      return;
    }
    pending.attempt += 1;
    this.#queue.set(key, pending);
  }

  /** One timer for all, as long as a launcher owes an answer. */
  #checkLater(): void {
    const stallMs = this.#options.stallMs ?? limits.launcherStallMs;
    this.#cancelCheck ??= this.#options.clock.after(stallMs, () => {
      this.#cancelCheck = undefined;
      const beforeMs = this.#options.clock.nowMs() - stallMs;
      for (const worker of [...this.#workers, ...this.#retired]) {
        if (worker.unacknowledged > 0 && worker.heardAtMs <= beforeMs) this.#giveUp(worker);
      }
      const owes = [...this.#workers, ...this.#retired].some((one) => one.unacknowledged > 0);
      if (owes) this.#checkLater();
    });
  }

  #giveUp(worker: Worker): void {
    const { log } = worker.launcher;
    this.#options.logger.warn({ launcher: log.directory }, "a launcher makes no progress");
    log.close();
    this.#retire(worker);
    log.read();
    for (const [key, pending] of worker.pending) {
      if (pending.hasStarted || log.runs.get(key)?.session !== undefined) continue;
      worker.pending.delete(key);
      worker.unacknowledged -= 1;
      this.#handAgain(pending);
    }
    this.#pump();
  }
}

function least<T>(all: readonly T[], by: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || by(one) < by(best)) best = one;
  return best;
}
