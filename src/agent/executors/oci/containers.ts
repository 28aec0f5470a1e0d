import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { removeTree } from "./remove-tree.ts";
import { cannotStart, lookingForContainers } from "../../../core/model/node/container-facts.ts";
import type { FactEntry } from "../../../core/model/node/node-facts.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RunRequest } from "../../../ports/executor.ts";
import type { ContainedRun, RunContainers } from "../../runs/containers/run-containers.ts";
import { createRemover, type Remover } from "../../runs/remover.ts";
import type { AgentEnv } from "../../runs/task-env.ts";
import {
  type FoundContainers,
  lookForContainers,
  superviseCommand,
  type WantedLimits,
} from "./capability.ts";
import {
  type ContainerMeans,
  type ContainerPlan,
  type PlannedContainer,
  readPlan,
  writePlan,
} from "./container-plan.ts";
import { endOfContainers } from "./ends.ts";
import type { ImageBounds } from "./images/image-bounds.ts";
import { type CachedImage, ImageCache } from "./images/image-cache.ts";
import { toImageSource } from "./images/image-source.ts";
import { prepareBundles } from "./prepare-bundles.ts";
import { findContainerPrograms, stampsOf } from "./programs.ts";
import { runProgram } from "./run-program.ts";
import { SCRIPT_INSIDE } from "./runtime/runtime-config.ts";
import { PREPARE } from "./scripts.ts";

export interface ContainersOptions {
  /** The directory of images, bundles and the states of runc. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId: string;
  /** The agent's own environment. */
  readonly env: AgentEnv;
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
  readonly wanted: WantedLimits;
  /** undefined: the usual ones. */
  readonly imageBounds?: ImageBounds | undefined;
}

/** Whether containers can be started: tested while the agent starts, and from time to time when they cannot. */
type Capability =
  | { readonly kind: "looking" }
  | ({ readonly kind: "can" } & FoundContainers)
  | { readonly kind: "cannot"; readonly why: string };

const preparerFile = fileURLToPath(
  new URL(`./container-preparer${extname(import.meta.url)}`, import.meta.url),
);

/**
 * Containers by runc, from images that skopeo copies and umoci unpacks: docs/design/containers.md.
 *
 *   directory/images/…      see ImageCache
 *   directory/runs/17.0.1/  of one run: plan.json, script, failure.json, and a bundle for each container
 *   directory/states/       of runc
 */
export class Containers implements RunContainers {
  readonly #options: ContainersOptions;
  readonly #cache: ImageCache;
  readonly #remover: Remover;
  /** Runs with containers only; other runs cost nothing here. */
  readonly #keys: Set<string>;
  #capability: Capability = { kind: "looking" };
  #listener: () => void = () => undefined;
  readonly #looked: Promise<void>;
  #lookingAgain: Promise<void> = Promise.resolve();
  #stopLooking: () => void = () => undefined;
  #isClosed = false;
  /** Removals of leftovers, one after the other; they begin when it is known how to run containers. */
  #tail: Promise<void>;

  constructor(options: ContainersOptions) {
    this.#options = options;
    const { directory, bootId, logger } = options;
    for (const name of ["runs", "states"]) makeDirectory(join(directory, name));
    this.#keys = new Set(readdirSync(join(directory, "runs")));
    this.#cache = new ImageCache(join(directory, "cache"), bootId);
    this.#cache.make();
    this.#remover = createRemover(join(directory, "trash"), logger);
    this.#looked = this.#lookAndKeep();
    this.#tail = this.#looked;
  }

  /** Calls back when it is known whether containers can be started, and when that changes. */
  onFound(listener: () => void): void {
    this.#listener = listener;
  }

  /** Resolves when it is known. */
  get found(): Promise<void> {
    return this.#looked;
  }

  facts(): readonly FactEntry[] {
    const capability = this.#capability;
    if (capability.kind === "can") return [capability.entry];
    return [capability.kind === "cannot" ? cannotStart(capability.why) : lookingForContainers()];
  }

  commandOf(run: ContainedRun): readonly string[] {
    const means = this.#means();
    const plan = this.#planOf(run, means);
    for (const { source } of plan.mounts) {
      if (existsSync(source)) continue;
      throw new Error(`there is no ${source} to mount on this node`);
    }
    const runDirectory = this.#runDirectory(run.key);
    removeTree(runDirectory); // left by an earlier process that did not begin it
    makeDirectory(runDirectory);
    this.#keys.add(run.key);
    writePlan(runDirectory, plan);
    if (plan.script !== undefined && run.request.work.kind === "script") {
      writeFileSync(plan.script, run.request.work.text, { mode: 0o755 });
    }
    const supervise = superviseCommand(means, {
      runDirectory,
      states: this.#states,
      killGraceMs: run.request.killGraceMs,
      containers: plan.containers,
    });
    const images = this.#imagesOf(plan);
    if (images !== undefined) {
      prepareBundles(runDirectory, plan, { images, cache: this.#cache });
      return supervise;
    }
    const lock = this.#cache.lockOf(plan.containers.map(({ image }) => image));
    const preparer = [lock, means.programs.flock, process.execPath, preparerFile, runDirectory];
    return ["/bin/sh", "-c", PREPARE, "busbar-containers", ...preparer, ...supervise];
  }

  judge: RunContainers["judge"] = (key, end) => {
    if (!this.#keys.has(key)) return end;
    try {
      return endOfContainers(this.#runDirectory(key), this.#states, end);
    } catch (error) {
      this.#options.logger.warn(
        { run: key, error: describeChain(error) },
        "could not read how the containers of a run ended",
      );
      return end;
    }
  };

  ended(key: string): void {
    if (this.#keys.has(key)) this.#later(() => this.#remove(key));
  }

  recover(activeKeys: ReadonlySet<string>): void {
    for (const key of this.#keys) {
      if (!activeKeys.has(key)) this.#later(() => this.#remove(key));
    }
    const left = this.#cache.incomingOf((run) => !activeKeys.has(run) && !isEarlierCopy(run));
    for (const path of left) this.#discard(path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopLooking();
    await this.#lookingAgain;
    await this.#tail;
    await this.#remover.idle();
  }

  /** A disk may have been full, the machine too busy, or a program missing that somebody installs: looks again while it cannot. */
  async #lookAndKeep(): Promise<void> {
    const found = await this.#look().catch((error: unknown): Capability => {
      return { kind: "cannot", why: describeChain(error) };
    });
    const isNew = !isDeepEqual(found, this.#capability);
    this.#capability = found;
    if (isNew) {
      this.#options.logger.info({ containers: this.facts()[0] }, "looked for container support");
      this.#listener();
    }
    if (found.kind === "can" || this.#isClosed) return;
    this.#stopLooking = this.#options.clock.after(limits.containersLookAgainMs, () => {
      this.#lookingAgain = this.#lookAndKeep();
    });
  }

  /** The result of an earlier process stays valid until its inputs change: runs may have to start at once. */
  async #look(): Promise<Capability> {
    const { directory, env, wanted, bootId } = this.#options;
    const programs = findContainerPrograms(env);
    if (typeof programs === "string") return { kind: "cannot", why: programs };
    const key = JSON.stringify([bootId, process.getuid?.(), wanted, stampsOf(programs)]);
    const file = join(directory, "found.json");
    const known = readFound(file);
    if (known?.key === key) return { kind: "can", ...known.found };
    const found = await lookForContainers(directory, programs, wanted);
    if (typeof found === "string") return { kind: "cannot", why: found };
    writeFileSync(file, JSON.stringify({ key, found }));
    return { kind: "can", ...found };
  }

  /** Throws an Error whose message is for people. */
  #means(): ContainerMeans {
    const capability = this.#capability;
    if (capability.kind === "can") return capability.means;
    const why = capability.kind === "cannot" ? capability.why : "its agent is still testing it";
    throw new Error(`this node cannot start containers: ${why}`);
  }

  #planOf(run: ContainedRun, means: ContainerMeans): ContainerPlan {
    const { key, request, progressFile } = run;
    const { container, needs } = request;
    if (container === undefined) throw new AppError("internal", "a run without containers");
    const { cpu, memory } = needs;
    return {
      containers: this.#containersOf(run),
      mounts: container.mounts,
      network: container.network,
      hostname: hostnameOf(request),
      cwd: request.cwd,
      progressFile,
      script: request.work.kind === "script" ? join(this.#runDirectory(key), "script") : undefined,
      needs: { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) },
      dataLimitBytes: run.limits?.[0]?.soft,
      means,
      imagesDirectory: this.#cache.directory,
      bootId: this.#options.bootId,
      plannedAtMs: Date.now(),
      imageBounds: this.#options.imageBounds,
    };
  }

  #containersOf({ key, request, env }: ContainedRun): readonly PlannedContainer[] {
    const { container, work } = request;
    const shared = { ...this.#options.taskEnv, ...request.env };
    const idOf = (number: number): string => `${this.#idPrefix}${key}-${number}`;
    if (container?.image !== undefined) {
      const args =
        work.kind === "script" ? scriptArgs(work) : work.kind === "command" ? work.argv : [];
      return [{ id: idOf(0), name: "", image: container.image, args, env: { ...shared, ...env } }];
    }
    return (container?.containers ?? []).map(({ name, image, command, env: own }, number) => ({
      id: idOf(number),
      name,
      image,
      args: command,
      env: { ...shared, ...own, ...env },
    }));
  }

  /** undefined: one of them is not in the cache. */
  #imagesOf(plan: ContainerPlan): readonly CachedImage[] | undefined {
    const images: CachedImage[] = [];
    for (const { image } of plan.containers) {
      const found = this.#cache.find(toImageSource(image));
      if (found === undefined) return undefined;
      images.push(found);
    }
    return images;
  }

  /** Agents of one machine share its control groups. */
  get #idPrefix(): string {
    const { dev, ino } = statSync(this.#options.directory);
    return `busbar-${dev.toString(16)}-${ino.toString(16)}-`;
  }

  get #states(): string {
    return join(this.#options.directory, "states");
  }

  #runDirectory(key: string): string {
    return join(this.#options.directory, "runs", key);
  }

  #later(work: () => Promise<void>): void {
    this.#tail = this.#tail.then(work).catch((error: unknown) => {
      this.#options.logger.warn({ error: describeChain(error) }, "could not remove a container");
    });
  }

  /** Kills the remaining containers of a run, and removes them with all their files. */
  async #remove(key: string): Promise<void> {
    const runDirectory = this.#runDirectory(key);
    for (const { id } of this.#plannedOf(runDirectory)) await this.#delete(id);
    for (const path of this.#cache.incomingOf((run) => run === key)) this.#discard(path);
    this.#discard(runDirectory);
    this.#keys.delete(key);
  }

  #discard(path: string): void {
    if (process.getuid?.() === 0) this.#remover.remove(path);
    else removeTree(path);
  }

  #plannedOf(runDirectory: string): readonly PlannedContainer[] {
    try {
      return readPlan(runDirectory).containers;
    } catch {
      return []; // the run was cut off before it began
    }
  }

  async #delete(id: string): Promise<void> {
    const capability = this.#capability;
    if (!existsSync(join(this.#states, id)) || capability.kind !== "can") return;
    const { runc } = capability.means.programs;
    const args = ["--root", this.#states, "delete", "--force", id];
    const timeoutMs = limits.containerProgramMsMax;
    const { code, stderr } = await runProgram(runc, args, { timeoutMs });
    if (code === 0) return;
    this.#options.logger.warn({ container: id, stderr }, "runc could not delete a container");
  }
}

interface KnownFound {
  readonly key: string;
  readonly found: FoundContainers;
}

function readFound(file: string): KnownFound | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as KnownFound;
  } catch {
    return undefined;
  }
}

/** Names in terms of runs: "busbar-17", "busbar-17-3" in an array. */
const hostnameOf = ({ id, arrayIndex }: RunRequest): string =>
  arrayIndex === undefined ? `busbar-${id.jobId}` : `busbar-${id.jobId}-${arrayIndex}`;

const scriptArgs = ({
  text,
  args = [],
}: Extract<RunRequest["work"], { kind: "script" }>): readonly string[] =>
  text.startsWith("#!") ? [SCRIPT_INSIDE, ...args] : ["/bin/sh", SCRIPT_INSIDE, ...args];

/** An earlier version wrote the pid of the process that copies, not the key of its run. */
const isEarlierCopy = (name: string): boolean => /^\d+$/.test(name) && existsSync(`/proc/${name}`);
