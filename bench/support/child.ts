import { type ChildProcess, spawn } from "node:child_process";
import { invariant } from "../../src/lib/invariant.ts";

const STOP_MS_MAX = 30_000;
const PRINT_MS_MAX = 120_000;
const KEPT_CHARS_MAX = 1_000_000;

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether the bench writes to its standard input. */
  readonly takesInput?: boolean;
}

/** A process that the bench started, with its output. Ended by its pid only. */
export class Child {
  readonly command: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #output = "";
  #news: (() => void)[] = [];

  constructor(command: string, args: readonly string[], options: ChildOptions = {}) {
    const { env, cwd, takesInput } = options;
    this.command = [command, ...args].join(" ");
    this.#child = spawn(command, args, {
      stdio: [takesInput === true ? "pipe" : "ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
      cwd,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (data: Buffer) => {
        if (this.#output.length < KEPT_CHARS_MAX) this.#output += data.toString();
        this.#tell();
      });
    }
    this.#exited = new Promise((resolve) => {
      // Not "exit": its last output comes before "close".
      this.#child.once("close", () => resolve(this.#tell()));
      this.#child.once("error", (error) => {
        this.#output += String(error);
        resolve(this.#tell());
      });
    });
  }

  get pid(): number {
    const { pid } = this.#child;
    invariant(pid !== undefined, `${this.command} was started`);
    return pid;
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Resolves with the first group of the pattern (or all of it) when the process printed it. */
  async prints(pattern: RegExp, timeoutMs = PRINT_MS_MAX): Promise<string> {
    const endMs = performance.now() + timeoutMs;
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found !== null) return found[1] ?? found[0];
      if (this.isOver) throw new Error(`${this.command} ended: ${this.#output}`);
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) throw new Error(`${this.command} did not print ${String(pattern)} in time`);
      await this.#nextNews(leftMs);
    }
  }

  /** Resolves with all its output when it ended with 0. */
  async done(): Promise<string> {
    await this.#exited;
    if (this.#child.exitCode === 0) return this.#output;
    const how = this.#child.exitCode ?? this.#child.signalCode;
    throw new Error(`${this.command} ended with ${String(how)}: ${this.#output}`);
  }

  /** Orderly if possible: a profile is written at the exit. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.isOver) this.#child.kill(signal);
    const timer = setTimeout(() => this.kill(), STOP_MS_MAX);
    await this.#exited;
    clearTimeout(timer);
  }

  kill(): void {
    if (!this.isOver) this.#child.kill("SIGKILL");
  }

  #nextNews(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#news.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #tell(): void {
    const waiting = this.#news;
    this.#news = [];
    for (const resolve of waiting) resolve();
  }
}
