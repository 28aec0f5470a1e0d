import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../../../lib/make-directory.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { AttachedRun, AttachEvents } from "../../../../ports/attached-run.ts";
import type { Clock } from "../../../../ports/clock.ts";
import type { RunRequest } from "../../../../ports/executor.ts";
import { openAttachSocket } from "./attach-socket.ts";

const NO_WORDS: readonly string[] = [];
const NO_PROGRAM =
  "this agent cannot pass on standard input or a terminal: it has no dist/native/attach-linux, " +
  "which npm install builds where it finds a C compiler";

/** Runs with a client, and their sockets: one for each, made by its program (attach.c), named by its key. */
export class AttachedRuns {
  readonly #directory: string;
  readonly #program: string | undefined;
  readonly #clock: Clock;
  /** Attached runs that have not ended. */
  readonly #keys = new Set<string>();

  /** Without the program no run can have a client. */
  constructor(options: {
    readonly directory: string;
    readonly program: string | undefined;
    readonly clock: Clock;
  }) {
    this.#directory = options.directory;
    this.#program = options.program;
    this.#clock = options.clock;
  }

  get isAble(): boolean {
    return this.#program !== undefined;
  }

  /** Finds the sockets of earlier processes, and removes those of ended runs. */
  recover(active: ReadonlySet<string>): void {
    if (!existsSync(this.#directory)) return;
    for (const key of readdirSync(this.#directory)) {
      if (active.has(key)) this.#keys.add(key);
      else this.#remove(key);
    }
  }

  /** The words before the command of a run; for a run with a client the program comes first. Throws an Error for people. */
  wordsBefore(request: RunRequest, key: string): readonly string[] {
    const { attach, before = NO_WORDS, outputLimitBytes } = request;
    if (attach === undefined) return before;
    if (this.#program === undefined) throw new Error(NO_PROGRAM);
    makeDirectory(this.#directory);
    this.#keys.add(key);
    const how = [attach.kind, String(attach.hangUpMs), String(outputLimitBytes)];
    return [this.#program, this.#directory, key, ...how, "--", ...before];
  }

  ended(key: string): void {
    if (this.#keys.size > 0 && this.#keys.delete(key)) this.#remove(key);
  }

  open(key: string, events: AttachEvents): AttachedRun {
    if (!this.#keys.has(key)) {
      throw new AppError("not_found", `run ${key} has ended, or takes no client`);
    }
    const isActive = (): boolean => this.#keys.has(key);
    const where = { directory: this.#directory, key };
    return openAttachSocket({ ...where, clock: this.#clock, isActive }, events);
  }

  #remove(key: string): void {
    rmSync(join(this.#directory, key), { force: true });
  }
}
