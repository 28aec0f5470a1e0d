import { createAgent } from "../../src/agent/agent.ts";
import type { LossTerms } from "../../src/core/model/node/node.ts";
import { describeChain } from "../../src/lib/errors.ts";
import type { Logger } from "../../src/ports/logger.ts";
import type { Machine } from "./machine.ts";
import type { Network } from "./network.ts";
import type { Seeded } from "./random.ts";
import type { ProcessClock, Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

interface Life {
  readonly clock: ProcessClock;
  readonly abort: AbortController;
}

interface ClusterTerms {
  readonly cluster: string;
  readonly leaseMs: number;
  readonly onLost: "requeue" | "keep" | "fail";
}

const RUNS_MAX = 4;

/** Starts, kills and stops the real agent on one machine. */
export class AgentHost {
  readonly machine: Machine;
  readonly #network: Network;
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  readonly #witness: Witness;
  readonly #trace: Trace;
  readonly #logger: Logger;
  readonly #clusterAgent: ClusterTerms | undefined;
  readonly #loss: LossTerms | undefined;
  readonly #canHold: boolean;
  #life: Life | undefined = undefined;
  startedAtMs = 0;

  constructor(options: {
    readonly machine: Machine;
    readonly network: Network;
    readonly timeline: Timeline;
    readonly random: Seeded;
    readonly witness: Witness;
    readonly trace: Trace;
    readonly logger: Logger;
    /** The loss policy that its node's agent requests. */
    readonly loss?: LossTerms | undefined;
    readonly canHold?: boolean;
    /** For the agent of a whole cluster. */
    readonly clusterAgent?: ClusterTerms;
  }) {
    this.machine = options.machine;
    this.#network = options.network;
    this.#timeline = options.timeline;
    this.#random = options.random;
    this.#witness = options.witness;
    this.#trace = options.trace;
    this.#logger = options.logger;
    this.#clusterAgent = options.clusterAgent;
    this.#loss = options.loss;
    this.#canHold = options.canHold === true;
  }

  get name(): string {
    return this.machine.name;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  start(): void {
    if (this.isUp) return;
    this.#trace.line(`${this.name}: agent starts`);
    const life: Life = { clock: this.machine.newClock(), abort: new AbortController() };
    this.#life = life;
    this.startedAtMs = this.#timeline.nowMs;
    const { machine } = this;
    const agent = createAgent({
      name: this.name,
      cluster: this.#clusterAgent?.cluster ?? "default",
      ...(this.#clusterAgent && {
        clusterAgent: {
          ...this.#clusterAgent,
          room: () => ({ tasks: Math.max(0, RUNS_MAX - machine.running.length), free: {} }),
        },
      }),
      loss: this.#loss,
      agentKey: `key-of-${this.name}`.padEnd(32, "x"),
      bootId: this.machine.bootId,
      version: "simulated",
      capacity: this.machine.capacity,
      canHold: this.#canHold,
      // Another kernel with each boot: rows of facts are written, retained and removed like others.
      machineFacts: () => {
        const release = this.machine.bootId;
        return JSON.stringify({ software: { kernel: [{ name: "simulated", release }] } });
      },
      labels: { zone: this.name < "m2" ? "a" : "b" },
      executor: this.machine.openExecutor(),
      connect: this.#network.connectFor(this.name),
      clock: life.clock,
      random: this.#random,
      logger: this.#logger,
    });
    const beat = (): void => {
      agent.roomChanged();
      life.clock.after(1_000, beat);
    };
    if (this.#clusterAgent !== undefined) beat();
    agent.run(life.abort.signal).catch((error: unknown) => {
      const text = `agent of ${this.name} gave up: ${describeChain(error)}`;
      this.#witness.judge("server-stays-sound", text);
    });
  }

  /** kill -9: sends nothing, writes nothing; processes continue. */
  kill(): void {
    if (this.#life === undefined) return;
    this.#trace.line(`${this.name}: agent is killed`);
    this.#life.clock.kill();
    this.#life = undefined;
    this.machine.detach();
    this.#network.agentDied(this.name);
  }

  /** SIGTERM: it disconnects. */
  stop(): void {
    if (this.#life === undefined) return;
    this.#trace.line(`${this.name}: agent stops`);
    this.#life.abort.abort();
    this.#life.clock.kill();
    this.#life = undefined;
    this.machine.detach();
  }
}
