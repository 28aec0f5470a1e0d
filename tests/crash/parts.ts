import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Running } from "../support/busbar.ts";

const OUTPUT_SHOWN_CHARS = 2_000;

/** A server or an agent across its many processes. It ends only when the test kills it. */
export class Part {
  readonly name: string;
  readonly problems: string[] = [];
  readonly #args: readonly string[];
  readonly #log: string;
  #running: Running | undefined;
  lives = 0;

  constructor(name: string, directory: string, args: readonly string[]) {
    this.name = name;
    this.#args = args;
    this.#log = join(directory, `${name}.log`);
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  get pid(): number {
    return this.#running?.pid ?? -1;
  }

  start(): void {
    if (this.#running !== undefined) return;
    this.lives++;
    const running = new Running(this.#args);
    this.#running = running;
    running.child.once("exit", (code, signal) => this.#ended(running, signal ?? `code ${code}`));
  }

  /** Waits for a line of this process. */
  async prints(pattern: RegExp): Promise<string> {
    return (await this.#running?.prints(pattern)) ?? "";
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined; // from here on the test ends it
    await running?.end("SIGKILL");
  }

  /** Keeps the log of each process beside the data; an error in it is an error of the test. */
  #ended(running: Running, how: string): void {
    appendFileSync(this.#log, `${running.output}\n--- life ${this.lives} ended: ${how}\n`);
    for (const line of running.output.split("\n")) {
      if (line.includes('"level":"error"')) this.problems.push(`${this.name} logged ${line}`);
    }
    if (this.#running !== running) return;
    this.#running = undefined;
    const tail = running.output.slice(-OUTPUT_SHOWN_CHARS);
    this.problems.push(`${this.name} ended by itself with ${how}: ${tail}`);
  }
}
