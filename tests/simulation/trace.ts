import { createHash } from "node:crypto";
import type { Timeline } from "./timeline.ts";

const KEPT = 30;

/** The events, line by line: the hash shows that two runs were equal, the end explains a failure. */
export class Trace {
  readonly #timeline: Timeline;
  readonly #print: ((line: string) => void) | undefined;
  readonly #hash = createHash("sha256");
  #last: string[] = [];
  lines = 0;

  constructor(timeline: Timeline, print?: (line: string) => void) {
    this.#timeline = timeline;
    this.#print = print;
  }

  line(text: string): void {
    const line = `${(this.#timeline.elapsedMs / 1_000).toFixed(3).padStart(9)} ${text}`;
    this.#hash.update(line).update("\n");
    this.lines++;
    this.#last.push(line);
    if (this.#last.length > 2 * KEPT) this.#last = this.#last.slice(-KEPT);
    this.#print?.(line);
  }

  get last(): readonly string[] {
    return this.#last.slice(-KEPT);
  }

  hash(): string {
    return this.#hash.copy().digest("hex");
  }
}
