import { type ChildProcess, spawn } from "node:child_process";

import { encodeEnvironment, encodeNativeLaunch } from "./launch-frame.ts";
import type { LaunchLog } from "./launch-log.ts";
import type { RecordLine } from "./launch-record.ts";
import { parseRecordLine } from "./launch-record.ts";
import type { Launch } from "./starter.ts";

export interface NativeLauncherOptions {
  readonly program: string;
  readonly log: LaunchLog;
  readonly env: Readonly<Record<string, string>>;
  onLines(lines: readonly RecordLine[]): void;
  /** The launcher sends nothing more; called once, never from within the constructor. */
  onGone(how: string): void;
  /** The keeper has ended, so another death would lose exit codes. */
  onKeeperGone(): void;
}

/** One native launcher as the agent sees it, and the slots that it may use. */
export class NativeLauncher {
  readonly log: LaunchLog;
  readonly #child: ChildProcess;
  readonly #spares: string[] = []; // clean slots
  #slots = 0; // number of slots ever named
  #frames: Buffer[] = [];
  #isGone = false;
  #isClosed = false;
  isReady = false;
  launches = 0;

  constructor(options: NativeLauncherOptions) {
    const { log, program } = options;
    this.log = log;
    this.#child = spawn(program, [log.directory], {
      argv0: `busbar launcher ${log.directory}`,
      cwd: "/",
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
    });
    const { stdin, stdout } = this.#child;
    this.#child.unref(); // a launcher does not keep an ending agent alive
    for (const stream of [stdin, stdout]) {
      (stream as { unref?: () => void } | null)?.unref?.();
      stream?.on("error", () => undefined); // "close" follows
    }
    let rest = "";
    stdout?.setEncoding("latin1").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      options.onLines(lines.map(parseRecordLine).filter((line) => line !== undefined));
    });
    let how = "it closed its output";
    const gone = (): void => {
      if (this.#isGone) return;
      this.#isGone = true;
      options.onGone(how);
    };
    stdout?.once("close", gone);
    this.#child.once("error", (error) => {
      how = error.message;
      setImmediate(gone);
    });
    this.#child.once("exit", (code, signal) => {
      how = signal ?? `exit ${code}`;
      if (!this.#isGone) options.onKeeperGone();
    });
    stdin?.write(encodeEnvironment(options.env));
  }

  takeSlot(): string {
    return this.#spares.pop() ?? this.takeNewSlot();
  }

  takeNewSlot(): string {
    this.#slots += 1;
    return String(this.#slots);
  }

  addSpare(slot: string): void {
    this.#spares.push(slot);
  }

  get spares(): number {
    return this.#spares.length;
  }

  /** Frames of one turn are written together. Throws when the launch does not fit a frame. */
  launch(launch: Launch, slot: string): void {
    const frame = encodeNativeLaunch(launch, slot, this.log.directory);
    if (this.#frames.length === 0) queueMicrotask(() => this.#flush());
    this.#frames.push(frame);
    this.launches += 1;
  }

  /** It ends when its commands have ended; the agent still reads its reports. */
  retire(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    this.#child.stdin?.end();
  }

  /** Like `retire`, and the agent no longer reads its reports. */
  close(): void {
    this.retire();
    this.#isGone = true;
    this.#child.stdout?.destroy();
  }

  #flush(): void {
    if (this.#frames.length === 0 || this.#isClosed) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#child.stdin?.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  }
}
