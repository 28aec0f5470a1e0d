import {
  chmodSync,
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { RunRequest } from "../../../ports/executor.ts";
import type { ProcessIdentity } from "../../proc.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { readOwner } from "../owner.ts";
import type { LowerStep } from "../plan-run.ts";
import type { Part } from "../run.ts";
import type { LowerScheduler } from "../scheduler.ts";
import { parseExit, wrapperOf } from "./wrapper.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";

/** The wrapper's own process, and the machine it runs on. */
export interface Runner extends ProcessIdentity {
  readonly host: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}

/**
 * The files of runs, on a file system that the nodes of the cluster share with the agent:
 *
 *   runs/17.3.1/request.json    the request
 *   runs/17.3.1/work/           its default working directory
 *   runs/17.3.1/                of a part: wrapper, script, claim, exit, stdout, stderr, and the files by which its
 *                               wrapper and the agent communicate: runner, alive, control
 *   runs/17.3.1/scheduler.err   messages of the scheduler (see LowerScheduler.writesIntoOutput)
 *   runs/17.0.1/2/, …/2/5/      of several steps one each, of several copies of a step one each
 *   arrays/17.3.1/3             by the scheduler's index, a link to the part
 */
export class PartFiles {
  readonly #directory: string;
  /** Distinguishes agents that use the same scheduler. */
  readonly owner: string;
  /** Arrays of runs of a job: they are needed as long as one of the runs may begin. */
  readonly #arraysByJob = new Map<string, Set<string>>();

  constructor(directory: string) {
    this.#directory = directory;
    for (const name of ["runs", "arrays"]) {
      makeDirectory(join(directory, name));
    }
    this.owner = readOwner(directory);
    for (const name of readdirSync(join(directory, "arrays"))) this.#noteArray(name);
  }

  of(key: string): string {
    return join(this.#directory, "runs", key);
  }

  #noteArray(name: string): void {
    const job = name.split(".")[0] ?? "";
    const names = this.#arraysByJob.get(job) ?? new Set();
    this.#arraysByJob.set(job, names.add(name));
  }

  /** Returns the directories of a job's arrays and drops them. */
  takeArrays(jobId: number): string[] {
    const names = this.#arraysByJob.get(String(jobId)) ?? [];
    this.#arraysByJob.delete(String(jobId));
    return Array.from(names, (name) => join(this.#directory, "arrays", name));
  }

  hasArrays(jobId: number): boolean {
    return this.#arraysByJob.has(String(jobId));
  }

  writeRequest(key: string, request: RunRequest): void {
    const path = join(this.of(key), "request.json");
    mkdirSync(this.of(key), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.new`, JSON.stringify(request), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  readRequest(key: string): RunRequest {
    // Only this class writes it. JSON leaves out undefined fields, so that they are undefined again.
    return JSON.parse(readFileSync(join(this.of(key), "request.json"), "utf8")) as RunRequest;
  }

  /** Everything that a part needs to run. */
  writePart(part: Part, step: LowerStep, scheduler: LowerScheduler): void {
    const directory = this.of(part.key);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const cwd = step.cwd ?? join(this.of(part.run.key), "work");
    if (step.cwd === undefined) mkdirSync(cwd, { recursive: true });
    const text = wrapperOf({
      directory,
      argv: this.#argvOf(directory, step, scheduler),
      env: { ...step.env, ...copyVariables(part, step) },
      cwd,
      mark: this.markOf(part.key),
      ownId: scheduler.inside.id,
      writesOutput: scheduler.writesIntoOutput(step),
    });
    writeFileSync(join(directory, "wrapper"), text, { mode: 0o600 });
    writeFileSync(join(directory, "control"), "go\n", { mode: 0o600 });
  }

  /** A variable in the environment of the part's processes. No part's value is a prefix of another's. */
  markOf(key: string): string {
    return `${this.owner}.${key}.`;
  }

  /**
   * Orders the part's wrapper to end its processes, with this time from TERM to KILL. The file is written in place: shared file systems
   * show that sooner than a new file.
   */
  orderStop(key: string, graceMs: number): void {
    const seconds = Math.max(0, Math.ceil(graceMs / 1_000));
    writeFileSync(join(this.of(key), "control"), `stop ${seconds} end\n`, { mode: 0o600 });
  }

  #argvOf(
    directory: string,
    { work, before = [], launch, shape }: LowerStep,
    scheduler: LowerScheduler,
  ): string[] {
    const isMany = launch === "each-process" && shape.processes > 1;
    const first = [...(isMany ? scheduler.launcher(shape) : []), ...before];
    if (work.kind === "command") return [...first, ...work.argv];
    const path = join(directory, "script");
    writeFileSync(path, work.text, { mode: 0o700 });
    chmodSync(path, 0o700);
    return [...first, ...(work.text.startsWith("#!") ? [path] : ["/bin/sh", path])];
  }

  /** `parts` by their indexes in an array of the scheduler. */
  linkArray(
    name: string,
    parts: readonly { readonly index: number; readonly key: string }[],
  ): string {
    const plain = name.replaceAll("/", "_");
    const directory = join(this.#directory, "arrays", plain);
    this.#noteArray(plain);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const { index, key } of parts) {
      const path = join(directory, String(index));
      rmSync(path, { force: true }); // others may be in use
      symlinkSync(this.of(key), path);
    }
    return directory;
  }

  /** Claims a part that no job has claimed, so that none can any more. False: a job was faster. */
  takePart(key: string): boolean {
    const directory = this.of(key);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, "claim.stopped"), "stopped\n");
    try {
      linkSync(join(directory, "claim.stopped"), join(directory, "claim"));
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
    return this.ownerOf(key) === undefined;
  }

  /** The id of the job that has claimed the part. */
  ownerOf(key: string): string | undefined {
    const owner = readOptional(join(this.of(key), "claim"))?.trim();
    return owner === undefined || owner === "" || owner === "stopped" ? undefined : owner;
  }

  /** The process and machine of a part's wrapper; undefined: it has not recorded that. */
  runnerOf(key: string): Runner | undefined {
    const lines = (readOptional(join(this.of(key), "runner")) ?? "").split("\n");
    const [host, bootId, pidNamespace, pid, startTicks, end] = lines;
    if (end !== "end" || host === undefined || bootId === undefined) return undefined;
    if (pidNamespace === undefined || startTicks === undefined) return undefined;
    return { host, bootId, pidNamespace, pid: Number(pid), startTicks };
  }

  /** When the wrapper of a part last gave a sign of life, by the clock of the file system. */
  aliveAtMs(key: string): number | undefined {
    let file: number;
    try {
      file = openSync(join(this.of(key), "alive"), "r"); // otherwise shared file systems return old times
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return undefined;
      throw error;
    }
    try {
      return fstatSync(file).mtimeMs;
    } finally {
      closeSync(file);
    }
  }

  /** The outcome that the wrapper of a part recorded, and when. */
  exitOf(key: string): { readonly outcome: CommandOutcome; readonly atMs: number } | undefined {
    const path = join(this.of(key), "exit");
    const outcome = parseExit(readOptional(path) ?? "");
    const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    return outcome && atMs !== undefined ? { outcome, atMs: Math.floor(atMs) } : undefined;
  }
}

function copyVariables({ copy }: Part, { terms }: LowerStep): Record<string, string> {
  if (copy === undefined) return {};
  return { BUSBAR_ARRAY_INDEX: String(copy), BUSBAR_ARRAY_SIZE: String(terms.copies ?? 1) };
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
