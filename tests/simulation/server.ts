import { revision as toRevision } from "../../src/core/model/ids.ts";
import { LOCAL } from "../../src/core/access/principal.ts";
import type { AppError } from "../../src/lib/errors.ts";
import { AppError as Refusal, describeChain } from "../../src/lib/errors.ts";
import type { Logger } from "../../src/ports/logger.ts";
import type { AgentPeer } from "../../src/server/sessions/agent-session.ts";
import type { AgentStream } from "../../src/server/sessions/agent-sessions.ts";
import type { ControlPlane } from "../../src/server/control-plane.ts";
import { createInlineReader } from "../../src/server/readers/inline-reader.ts";
import { openControlPlane } from "../../src/server/control-plane.ts";
import type { Operations } from "../../src/server/operations/operations.ts";
import { policyNames } from "../../src/core/scheduler/nodes/node-policy.ts";
import { TABLES } from "../../src/core/state/tables/tables.ts";
import { State } from "../../src/core/state/state.ts";
import { firstDifference } from "./first-difference.ts";
import { checkState, digest } from "../../src/testing/check/check-state.ts";
import { QuickHasher } from "../../src/testing/quick-hasher.ts";
import type { Disk } from "./disk.ts";
import { Seeded } from "./random.ts";
import { ProcessClock } from "./timeline.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

export const NODE_LOST_AFTER_MS = 30_000;

interface Life {
  readonly clock: ProcessClock;
  plane: ControlPlane | undefined;
  /** Accepts no more calls: stopping or dead. */
  isClosed: boolean;
  /** Memory is ahead of the disk, and the process ends. */
  isBroken: boolean;
  readonly onDeath: Set<() => void>;
}

export interface ServerOptions {
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly disk: Disk;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly logger: Logger;
  readonly finishedTasksMax: number;
  readonly onUp: () => void;
  readonly onDied: () => void;
}

/** The real control plane, from one process to the next, over one disk. */
export class Server {
  readonly #options: ServerOptions;
  #life: Life | undefined = undefined;
  #isExpectedToBreak = false;
  readonly #secrets = new Seeded(1);
  startedAtMs = 0;
  restarts = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#life?.plane !== undefined && !this.#life.isClosed;
  }

  get state(): State | undefined {
    return this.#life?.plane?.state;
  }

  start(): void {
    const { timeline, random, disk, witness, trace, logger } = this.#options;
    if (this.#life !== undefined) return;
    trace.line(`server starts at revision ${disk.revision}`);
    witness.reread(disk.rows, disk.revision);
    const clock = new ProcessClock(timeline);
    const life: Life = {
      clock,
      plane: undefined,
      isClosed: false,
      isBroken: false,
      onDeath: new Set(),
    };
    this.#life = life;
    this.startedAtMs = timeline.nowMs;
    openControlPlane({
      store: disk.open(clock),
      clock,
      // Secrets are drawn separately: creating them changes nothing else of a seed.
      random: { fraction: () => random.fraction(), token: (bytes) => this.#secrets.token(bytes) },
      hasher: new QuickHasher(),
      reader: createInlineReader(),
      logger,
      version: "simulated",
      policies: { policy: random.pick(policyNames) },
      settings: {
        nodeLostAfterMs: NODE_LOST_AFTER_MS,
        finishedTasksMax: this.#options.finishedTasksMax,
        finishedAgeMsMax: 3_600_000,
        removedRowsMax: 2, // so that most arrays go in several batches
      },
      soon: (run) => void clock.after(random.int(0, 1), run),
      onBroken: (error) => this.#broke(life, error),
    }).then(
      (plane) => {
        life.plane = plane;
        this.checkIndexes();
        this.#options.onUp();
      },
      (error: unknown) => this.#broke(life, error),
    );
  }

  /** The disk failed: the process must end, and its supervisor restarts it. */
  #broke(life: Life, error: unknown): void {
    const { witness, trace, timeline, random } = this.#options;
    if (!this.#isExpectedToBreak) {
      witness.judge("server-stays-sound", `the server broke: ${describeChain(error)}`);
    }
    life.isBroken = true;
    if (life.isClosed) return;
    trace.line("server breaks");
    life.isClosed = true;
    timeline.after(random.int(1, 200), () => {
      if (this.#life !== life) return;
      this.crash();
      timeline.after(1_000, () => this.start());
    });
  }

  failNextFlush(): void {
    this.#isExpectedToBreak = true;
    this.#options.disk.failsNext = true;
  }

  /** kill -9, or power loss. */
  crash(): void {
    const { trace, disk, onDied } = this.#options;
    const life = this.#life;
    if (life === undefined) return;
    trace.line("server crashes");
    this.#end(life);
    onDied();
    disk.crash();
  }

  #end(life: Life): void {
    this.restarts++;
    life.isClosed = true;
    life.clock.kill();
    this.#life = undefined;
    this.#isExpectedToBreak = false;
    this.#options.disk.failsNext = false;
    for (const die of life.onDeath) die();
  }

  /** SIGTERM: everything accepted is stored, so that memory and disk must be equal. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life?.plane === undefined || life.isClosed) return;
    this.#options.trace.line("server stops");
    life.isClosed = true;
    await life.plane.close();
    if (this.#life !== life) return; // killed meanwhile
    if (!life.isBroken) this.checkMemory(life.plane.state);
    this.#end(life);
    this.#options.onDied();
  }

  checkIndexes(): void {
    const state = this.#life?.plane?.state;
    if (state === undefined) return;
    this.#options.witness.judge("indexes-agree-with-rows", checkState(state)[0]);
  }

  checkMemory(state: State): void {
    const { disk, witness } = this.#options;
    const read = new State();
    read.startLoading();
    for (const { key, value, revision } of disk.rows) {
      if (read.leftovers.skips(key)) continue;
      const change = TABLES.decode(key, value);
      read.startRow(toRevision(revision));
      TABLES.of(change).apply(read, change as never); // nothing folded
    }
    read.finishLoading();
    const path = firstDifference(digest(state), digest(read), "state");
    witness.judge(
      "memory-equals-disk",
      path === undefined ? undefined : `a restart would see ${path}`,
    );
  }

  accept(peer: AgentPeer): AgentStream | undefined {
    return this.isUp ? this.#life?.plane?.sessions.open(peer) : undefined;
  }

  /** One call of a client: answered, rejected, or lost on the way, executed or not. */
  call<T>(ask: (operations: Operations) => Promise<T>, told: (answer: T) => void): Promise<T> {
    const { timeline, random } = this.#options;
    const wayMs = (): number => random.delayMs(3, 200);
    return new Promise((resolve, reject) => {
      const lose = (): void =>
        void timeline.after(wayMs(), () => reject(new Refusal("unavailable", "lost")));
      timeline.after(wayMs(), () => {
        const life = this.#life;
        if (life?.plane === undefined || life.isClosed) return lose();
        life.onDeath.add(lose);
        ask(life.plane.operations.as(LOCAL)).then(
          (answer) => {
            if (!life.onDeath.delete(lose) || this.#life !== life) return;
            told(answer);
            if (random.chance(0.03)) lose();
            else timeline.after(wayMs(), () => resolve(answer));
          },
          (error: AppError) => {
            if (!life.onDeath.delete(lose) || this.#life !== life) return;
            timeline.after(wayMs(), () => reject(error));
          },
        );
      });
    });
  }

  /** For streams: the operations of this process, and a callback for its end. */
  attach(onDeath: () => void): Operations | undefined {
    if (!this.isUp) return undefined;
    this.#life?.onDeath.add(onDeath);
    return this.#life?.plane?.operations.as(LOCAL);
  }

  detach(onDeath: () => void): void {
    this.#life?.onDeath.delete(onDeath);
  }
}
