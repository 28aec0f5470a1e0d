import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

import { limits } from "../../../../limits.ts";
import { encodeEnvironment, encodeFrame, encodeLaunch } from "./launch-frame.ts";
import { LAUNCHER } from "./launcher-script.ts";
import type { Launch } from "./starter.ts";

export interface LauncherOptions {
  readonly perl: string;
  readonly runsDirectory: string;
  /** For directories that lanes prepare; created here, used by this launcher only. */
  readonly spareDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  onLine(line: string): void;
  /** The launcher has ended, or never started; called once, never from within the constructor. */
  onGone(how: string): void;
}

/** Resolves symbols once, not again in each fork. Commands do not inherit this. */
const PERL_ENV = { LD_BIND_NOW: "1", PERL_DL_NONLAZY: "1" };

/**
 * One launcher process as the agent sees it: its idle lanes and the spare directories that it may use. Frames of one turn are written
 * together.
 */
export class Launcher {
  readonly spareDirectory: string;
  readonly #runsDirectory: string;
  readonly #child: ChildProcess;
  readonly #idle: number[] = []; // the lane that became idle last is used first: it is warm
  readonly #spares: string[] = [];
  #lanes = 0; // ever made
  #busy = 0;
  #sparesMade = 0;
  #frames: Buffer[] = [];
  #isGone = false;
  isReady = false;
  /** Number of launches that it has not acknowledged yet. */
  unclaimed = 0;
  heardAtMs = 0;

  constructor(options: LauncherOptions) {
    this.spareDirectory = options.spareDirectory;
    this.#runsDirectory = options.runsDirectory;
    makeSpareDirectory(options.spareDirectory, options.runsDirectory);
    this.#child = spawn(
      options.perl,
      ["-e", LAUNCHER, options.runsDirectory, options.spareDirectory],
      { cwd: "/", env: PERL_ENV, stdio: ["pipe", "pipe", "ignore"], detached: true },
    );
    const { stdin, stdout } = this.#child;
    this.#child.unref(); // a launcher does not keep an ending agent alive
    for (const stream of [stdin, stdout]) {
      (stream as { unref?: () => void } | null)?.unref?.();
      stream?.on("error", () => undefined); // the event "exit" reports its end
    }
    let rest = "";
    stdout?.setEncoding("latin1").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (!this.#isGone) options.onLine(line);
    });
    const gone = (how: string): void => {
      if (this.#isGone) return;
      this.close();
      options.onGone(how);
    };
    this.#child.once("error", (error) => gone(error.message));
    this.#child.once("exit", (code, signal) => gone(signal ?? `exit ${code}`));
    stdin?.write(encodeEnvironment(options.env));
  }

  get idleLanes(): number {
    return this.#idle.length;
  }

  get busyLanes(): number {
    return this.#busy;
  }

  get spares(): number {
    return this.#spares.length;
  }

  /** Passes a launch to an idle lane, or to a new one; returns its number. */
  launch(launch: Launch): number {
    const frame = encodeLaunch(launch);
    const idle = this.#idle.pop();
    if (idle === undefined) this.#lanes += 1;
    const lane = idle ?? this.#lanes;
    this.#busy += 1;
    this.#send(lane, `${this.#spares.pop() ?? ""}\0${frame}`);
    return lane;
  }

  /** The lane is idle; more than a few idle lanes are ended. */
  releaseLane(lane: number): void {
    this.#busy -= 1;
    if (this.#idle.length < limits.launcherIdleLanesMax) this.#idle.push(lane);
    else this.#send(lane, "");
  }

  /** The lane ended by itself. */
  loseLane(lane: number): void {
    const at = this.#idle.indexOf(lane);
    if (at >= 0) this.#idle.splice(at, 1);
    else this.#busy -= 1;
  }

  /** Moves a clean directory to the spare ones; false when there are enough, or when that fails. */
  addSpare(directory: string): boolean {
    if (this.#isGone || this.#spares.length >= limits.launcherSparesMax) return false;
    this.#sparesMade += 1;
    const name = String(this.#sparesMade);
    try {
      renameSync(directory, join(this.spareDirectory, name));
    } catch {
      return false;
    }
    this.#spares.push(name);
    return true;
  }

  /** The directories may have been recreated: then the spare ones are missing. */
  renew(): void {
    if (this.#isGone || existsSync(this.spareDirectory)) return;
    this.#spares.length = 0;
    makeSpareDirectory(this.spareDirectory, this.#runsDirectory);
  }

  /** Ends the launcher: its lanes finish their commands, then end too. */
  close(): void {
    if (this.#isGone) return;
    this.#flush();
    this.#isGone = true;
    this.#child.stdin?.end();
    this.#child.stdout?.destroy();
  }

  #send(lane: number, text: string): void {
    if (this.#frames.length === 0) queueMicrotask(() => this.#flush());
    this.#frames.push(encodeFrame(lane, text));
  }

  #flush(): void {
    if (this.#frames.length === 0 || this.#isGone) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#child.stdin?.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  }
}

/** Only where the runs directory exists: a removed data directory must be an error. */
function makeSpareDirectory(path: string, runsDirectory: string): void {
  statSync(runsDirectory);
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
