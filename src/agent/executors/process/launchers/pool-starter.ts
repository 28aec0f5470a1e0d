import { existsSync } from "node:fs";
import { join } from "node:path";

import { describeChain } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Clock } from "../../../../ports/clock.ts";
import type { Logger } from "../../../../ports/logger.ts";
import type { LauncherLine } from "./launch-frame.ts";
import { parseLauncherLine } from "./launch-frame.ts";
import { Launcher } from "./launcher.ts";
import type { Remover } from "../../../runs/remover.ts";
import { type Gone, type Launch, type ProcessStarter, NO_LIMITS_HERE, STOPPED } from "./starter.ts";
import { describeMachineFault, describeOwnFault, errnoOf } from "../../../runs/machine-fault.ts";
import { parseOutcomeLine, parseUsage } from "./wrapper.ts";

export interface PoolStarterOptions {
  readonly perl: string;
  readonly runsDirectory: string;
  /** Holds the directories that lanes prepare. A process that moves it away prevents every lane from claiming a run. */
  readonly spareDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly remover: Remover;
  /** Takes over when launchers do not start, or lose the same launch again and again. */
  readonly fallback: ProcessStarter;
  readonly stallMs?: number | undefined;
}

interface Asked {
  readonly launch: Launch;
  readonly onGone: (gone: Gone) => void;
  readonly onStarted: (atMs: number | undefined) => void;
  readonly attempt: number;
}

/** A launch that a lane has, until the lane reports its outcome. */
interface Pending extends Asked {
  readonly launcher: Launcher;
  readonly lane: number;
  isClaimed: boolean;
}

/**
 * Starts commands by a few launchers (see LAUNCHER).
 *
 * - A launcher has a bounded number of launches that no lane has begun. The rest waits here, where a
 *   stop removes it at once. So the machine sets the pace.
 * - The starter replaces a launcher that dies, or that owes an answer and has sent nothing for a long time.
 *   It does not kill it, because it may be merely slow. First the starter moves its prepared directories
 *   away, so that its lanes can claim no more runs. Then each of its launches either was claimed, and is
 *   watched by its state file, or goes to another launcher.
 */
export class PoolStarter implements ProcessStarter {
  readonly #options: PoolStarterOptions;
  readonly #queue = new Map<string, Asked>();
  readonly #pending = new Map<string, Pending>();
  #launchers: Launcher[] = [];
  #launchersMade = 0;
  #failures = 0; // launchers in a row that never said "ready"
  #isClosed = false;
  #cancelCheck: (() => void) | undefined;

  constructor(options: PoolStarterOptions) {
    this.#options = options;
  }

  start(launch: Launch, onGone: Asked["onGone"], onStarted: Asked["onStarted"]): void {
    const asked = { launch, onGone, onStarted, attempt: 1 };
    if (launch.limits !== undefined) return this.#tell(asked, NO_LIMITS_HERE);
    this.#queue.set(launch.key, asked);
    this.#pump();
  }

  cancel(key: string): boolean {
    const asked = this.#queue.get(key);
    if (asked === undefined) return this.#options.fallback.cancel(key);
    this.#queue.delete(key);
    this.#tell(asked, STOPPED);
    return true;
  }

  recycle(directory: string): boolean {
    const poorest = least(this.#launchers, ({ spares }) => spares);
    return poorest?.addSpare(directory) ?? false;
  }

  renew(): void {
    this.#failures = 0;
    for (const launcher of this.#launchers) launcher.renew();
    this.#options.fallback.renew?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    for (const launcher of this.#launchers) launcher.close();
    this.#options.fallback.close();
  }

  /** Passes launches to launchers that accept more. */
  #pump(): void {
    for (const [key, asked] of this.#queue) {
      this.#fill();
      if (this.#launchers.length === 0 || asked.attempt > limits.launchAttemptsMax) {
        this.#queue.delete(key);
        this.#options.fallback.start(asked.launch, asked.onGone, asked.onStarted);
        continue;
      }
      const launcher = this.#pick();
      if (launcher === undefined) return;
      this.#queue.delete(key);
      this.#hand(launcher, asked);
    }
  }

  #hand(launcher: Launcher, asked: Asked): void {
    try {
      const lane = launcher.launch(asked.launch);
      this.#pending.set(asked.launch.key, { ...asked, launcher, lane, isClaimed: false });
    } catch (error) {
      this.#tell(asked, goneOfError(error, this.#options.spareDirectory));
      return;
    }
    if (launcher.unclaimed === 0) launcher.heardAtMs = this.#options.clock.nowMs();
    launcher.unclaimed += 1;
    this.#checkLater();
  }

  /** Never from within `start`. */
  #tell({ onGone }: Asked, gone: Gone): void {
    queueMicrotask(() => {
      if (!this.#isClosed) onGone(gone);
    });
  }

  #fill(): void {
    const wanted = this.#failures < limits.launchAttemptsMax ? limits.launchersMax : 0;
    while (this.#launchers.length < wanted && !this.#isClosed) this.#addLauncher();
  }

  /** The launcher with the most idle lanes; undefined when each has enough to do. */
  #pick(): Launcher | undefined {
    const ready = this.#launchers.filter(
      ({ unclaimed }) => unclaimed < limits.launchesUnacknowledgedMax,
    );
    const idle = ready.filter(({ idleLanes }) => idleLanes > 0);
    return least(idle.length > 0 ? idle : ready, ({ busyLanes }) => busyLanes);
  }

  #addLauncher(): void {
    const { perl, runsDirectory, env, spareDirectory } = this.#options;
    this.#launchersMade += 1;
    const launcher: Launcher = new Launcher({
      perl,
      runsDirectory,
      env,
      spareDirectory: join(spareDirectory, `${process.pid}-${this.#launchersMade}`),
      onLine: (line) => this.#onLine(launcher, parseLauncherLine(line)),
      onGone: (how) => this.#onLauncherGone(launcher, how),
    });
    this.#launchers.push(launcher);
  }

  #onLine(launcher: Launcher, line: LauncherLine | undefined): void {
    if (this.#isClosed || line === undefined) return;
    launcher.heardAtMs = this.#options.clock.nowMs();
    this.#handle(launcher, line);
    this.#pump();
  }

  #handle(launcher: Launcher, line: LauncherLine): void {
    if (line.kind === "ready") {
      launcher.isReady = true;
      this.#failures = 0;
      return;
    }
    if (line.kind === "gone") {
      launcher.loseLane(line.lane);
      for (const pending of this.#pending.values()) {
        if (pending.launcher === launcher && pending.lane === line.lane) this.#settle(pending);
      }
      return;
    }
    const pending = this.#pending.get(line.key);
    const isOurs = pending?.launcher === launcher;
    if (line.kind === "started") {
      if (!isOurs) return;
      this.#claimed(pending);
      pending.onStarted(line.atMs);
      return;
    }
    launcher.releaseLane(line.lane);
    if (!isOurs) return;
    this.#remove(pending);
    pending.onGone(goneOf(line, pending.launch.directory));
  }

  #onLauncherGone(launcher: Launcher, how: string): void {
    if (this.#isClosed) return;
    this.#options.logger.warn({ how }, "a launcher exited and is replaced");
    if (!launcher.isReady) this.#failures += 1;
    this.#replace(launcher);
  }

  #replace(launcher: Launcher): void {
    this.#launchers = this.#launchers.filter((other) => other !== launcher);
    this.#options.remover.remove(launcher.spareDirectory);
    for (const pending of this.#pending.values()) {
      if (pending.launcher === launcher) this.#settle(pending);
    }
    this.#pump();
  }

  /** Its lane has ended, or can claim no more runs. */
  #settle(pending: Pending): void {
    const { launch, onGone, onStarted, attempt } = pending;
    this.#remove(pending);
    if (pending.isClaimed || existsSync(join(launch.directory, "state"))) {
      onGone({ kind: "gone", how: "lane lost" });
    } else {
      this.#queue.set(launch.key, { launch, onGone, onStarted, attempt: attempt + 1 });
    }
  }

  #claimed(pending: Pending): void {
    if (pending.isClaimed) return;
    pending.isClaimed = true;
    pending.launcher.unclaimed -= 1;
  }

  #remove(pending: Pending): void {
    if (!pending.isClaimed) pending.launcher.unclaimed -= 1;
    this.#pending.delete(pending.launch.key);
  }

  /** One timer for all, as long as a launcher owes an answer. */
  #checkLater(): void {
    const stallMs = this.#options.stallMs ?? limits.launcherStallMs;
    this.#cancelCheck ??= this.#options.clock.after(stallMs, () => {
      this.#cancelCheck = undefined;
      const beforeMs = this.#options.clock.nowMs() - stallMs;
      for (const launcher of this.#launchers) {
        if (launcher.unclaimed > 0 && launcher.heardAtMs <= beforeMs) this.#giveUp(launcher);
      }
      if (this.#launchers.some(({ unclaimed }) => unclaimed > 0)) this.#checkLater();
    });
  }

  #giveUp(launcher: Launcher): void {
    const { spareDirectory } = launcher;
    this.#options.logger.warn({ launcher: spareDirectory }, "a launcher makes no progress");
    launcher.close();
    this.#replace(launcher);
  }
}

/** A launch that does not fit a frame is the work's fault, one without a launcher is not. */
function goneOfError(error: unknown, directory: string): Gone {
  if (errnoOf(error) === undefined) {
    return { kind: "could-not-start", message: describeChain(error) };
  }
  return { kind: "node-fault", message: describeOwnFault(error, directory) };
}

function goneOf(
  line: Extract<LauncherLine, { kind: "ended" | "taken" | "refused" }>,
  directory: string,
): Gone {
  if (line.kind === "taken") return { kind: "gone", how: "another had claimed the run" };
  if (line.kind === "refused") {
    return { kind: "node-fault", message: describeMachineFault(line.errno, directory) };
  }
  const { outputBytes, isClean } = line;
  const outcome = parseOutcomeLine(line.outcome);
  if (outcome === undefined) return { kind: "gone", how: line.outcome };
  const usage = parseUsage(line.used);
  const how = { kind: "ended", outcome, outputBytes, isClean, usage } as const;
  return { ...how, hasFiles: true, endedAtMs: undefined };
}

function least<T>(all: readonly T[], by: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || by(one) < by(best)) best = one;
  return best;
}
