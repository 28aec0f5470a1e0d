import { existsSync } from "node:fs";
import { join } from "node:path";

import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { LauncherLine } from "./launch-frame.ts";
import { parseLauncherLine } from "./launch-frame.ts";
import { Launcher } from "./launcher.ts";
import type { Remover } from "../../runs/remover.ts";
import type { Gone, Launch, ProcessStarter } from "./starter.ts";
import { describeMachineFault, describeOwnFault, errnoOf } from "../../runs/machine-fault.ts";
import { parseOutcomeLine, parseUsage } from "./wrapper.ts";

export interface PoolStarterOptions {
  readonly perl: string;
  readonly runsDirectory: string;
  /** Holds what lanes prepare. Whoever moves it away keeps every lane from claiming a run. */
  readonly spareDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly remover: Remover;
  /** Takes over when launchers do not come up, or lose the same launch again and again. */
  readonly fallback: ProcessStarter;
}

/** A launch that was handed to a lane, until the lane tells what became of it. */
interface Pending {
  readonly key: string;
  readonly directory: string;
  readonly onGone: (gone: Gone) => void;
  readonly attempt: number;
  readonly launcher: Launcher;
  readonly lane: number;
  readonly sentAtMs: number;
  launch: Launch | undefined; // undefined: it was claimed, and need not be handed over again
}

/**
 * Starts commands by a few launchers (see LAUNCHER).
 *
 * A launcher that dies, or by which a launch is not claimed in time, is replaced. First what it
 * prepared is moved away, so that its lanes can claim nothing any more; then each of its launches
 * either was claimed, and is looked after by its state file, or is handed to another launcher.
 */
export class PoolStarter implements ProcessStarter {
  readonly #options: PoolStarterOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #unclaimed = new Set<Pending>(); // those of #pending with a launch, oldest first
  #launchers: Launcher[] = [];
  #launchersMade = 0;
  #failures = 0; // launchers in a row that never said "ready"
  #isClosed = false;
  #cancelCheck: (() => void) | undefined;

  constructor(options: PoolStarterOptions) {
    this.#options = options;
  }

  /** A lane is at hand or made at once: what it was given counts as started. */
  start(
    launch: Launch,
    onGone: (gone: Gone) => void,
    onStarted: (atMs: number | undefined) => void,
  ): void {
    this.#hand(launch, onGone, 1);
    onStarted(undefined);
  }

  cancel(): boolean {
    return false;
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

  #hand(launch: Launch, onGone: (gone: Gone) => void, attempt: number): void {
    const { key, directory } = launch;
    try {
      const launcher = attempt > limits.launchAttemptsMax ? undefined : this.#pick();
      if (launcher === undefined) {
        this.#options.fallback.start(launch, onGone, () => undefined);
        return;
      }
      const lane = launcher.launch(launch);
      const sentAtMs = this.#options.clock.nowMs();
      const pending = { key, directory, onGone, attempt, launcher, lane, sentAtMs, launch };
      this.#pending.set(key, pending);
      this.#unclaimed.add(pending);
      this.#checkLater();
    } catch (error) {
      queueMicrotask(() => {
        if (!this.#isClosed) onGone(goneOfError(error, this.#options.spareDirectory));
      });
    }
  }

  /** The launcher with the most lanes at hand; undefined when there are none on this machine. */
  #pick(): Launcher | undefined {
    const wanted = this.#failures < limits.launchAttemptsMax ? limits.launchersMax : 0;
    while (this.#launchers.length < wanted) this.#addLauncher();
    const idle = this.#launchers.filter(({ idleLanes }) => idleLanes > 0);
    return least(idle.length > 0 ? idle : this.#launchers, ({ busyLanes }) => busyLanes);
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
    launcher.releaseLane(line.lane);
    const pending = this.#pending.get(line.key);
    if (pending?.launcher !== launcher) return;
    this.#forget(pending);
    pending.onGone(goneOf(line, pending.directory));
  }

  #onLauncherGone(launcher: Launcher, how: string): void {
    if (this.#isClosed) return;
    this.#options.logger.warn({ how }, "a launcher is gone and will be replaced");
    if (!launcher.isReady) this.#failures += 1;
    this.#launchers = this.#launchers.filter((other) => other !== launcher);
    this.#options.remover.remove(launcher.spareDirectory);
    for (const pending of this.#pending.values()) {
      if (pending.launcher === launcher) this.#settle(pending);
    }
  }

  /** Its lane is gone, or can claim nothing any more. */
  #settle(pending: Pending): void {
    const { launch, onGone, attempt } = pending;
    this.#forget(pending);
    if (launch === undefined || isClaimed(pending)) onGone({ kind: "gone", how: "lane lost" });
    else this.#hand(launch, onGone, attempt + 1);
  }

  #forget(pending: Pending): void {
    this.#pending.delete(pending.key);
    this.#unclaimed.delete(pending);
  }

  /** One timer for all: most launches have ended long before it fires. */
  #checkLater(): void {
    this.#cancelCheck ??= this.#options.clock.after(limits.claimTimeoutMs, () => {
      this.#cancelCheck = undefined;
      this.#checkClaims();
      if (this.#unclaimed.size > 0) this.#checkLater();
    });
  }

  #checkClaims(): void {
    const beforeMs = this.#options.clock.nowMs() - limits.claimTimeoutMs;
    const hung = new Set<Launcher>();
    for (const pending of this.#unclaimed) {
      if (pending.sentAtMs > beforeMs) break;
      if (isClaimed(pending)) {
        pending.launch = undefined;
        this.#unclaimed.delete(pending);
      } else {
        hung.add(pending.launcher);
      }
    }
    for (const launcher of hung) launcher.kill(); // what follows is told by its end
  }
}

const isClaimed = ({ directory }: Pending): boolean => existsSync(join(directory, "state"));

/** A launch that cannot be put into a frame is the work's fault, one without a launcher is not. */
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
