import { isEnded } from "../../src/core/model/job/task.ts";
import type { Service, Slot } from "../../src/core/model/service/service.ts";
import type { Operations } from "../../src/server/operations/operations.ts";
import type { Verdict } from "./checkers.ts";
import { type Asked, ONE_CORE } from "./asks.ts";
import type { BatchMoves, Durable } from "./durable.ts";
import type { Seeded } from "./random.ts";

const NAMES = ["web", "api"];
const INSTANCES = ["blue", "red"];
const REPLICAS_MAX = 4;
const numbered = (name: string): string[] =>
  Array.from({ length: REPLICAS_MAX }, (_none, at) => `${name}-${at + 1}`);

/** Few worlds have services, so that other seeds do not depend on them. */
export const hasServices = (seed: number): boolean => seed % 9 === 5;

interface Wish {
  readonly what: string;
  readonly ask: (to: Operations) => Promise<unknown>;
}

/** Callers who want instances, more or fewer of them, and other templates. */
export class ServiceClients {
  readonly #random: Seeded;

  constructor(random: Seeded, { jobs }: Asked) {
    this.#random = random;
    // The requests of instances, by their possible names.
    for (const name of [...NAMES.flatMap(numbered), ...INSTANCES]) jobs.set(name, ONE_CORE.ask);
  }

  /** How often they act. */
  get count(): number {
    return this.#random.int(6, 16);
  }

  /** Some time before this. */
  moment(beforeMs: number): number {
    return this.#random.int(0, beforeMs);
  }

  next(): Wish {
    const random = this.#random;
    const name = random.pick(NAMES);
    const roll = random.fraction();
    if (roll < 0.45) return this.#apply(name);
    if (roll < 0.65) {
      const replicas = random.int(0, REPLICAS_MAX);
      return { what: `scale ${name} ${replicas}`, ask: (to) => to.scaleService(name, replicas) };
    }
    if (roll < 0.75) return { what: `rollback ${name}`, ask: (to) => to.rollbackService(name) };
    const instance = random.pick(INSTANCES);
    if (roll < 0.87) {
      return { what: `add ${name} ${instance}`, ask: (to) => to.addInstances(name, [instance]) };
    }
    if (roll < 0.95) {
      const ask = (to: Operations) => to.removeInstances(name, [instance], "");
      return { what: `remove ${name} ${instance}`, ask };
    }
    return { what: `remove ${name}`, ask: (to) => to.removeService(name, "") };
  }

  #apply(name: string): Wish {
    const random = this.#random;
    const restart = random.pick(["always", "always", "on-failure", "never"]);
    const template = {
      command: ["serve", String(random.int(1, 3))],
      ...ONE_CORE.demand,
      service: { restart, backoffMs: 200, backoffMaxMs: 2_000 },
    };
    const replicas = random.chance(0.6) ? random.int(1, REPLICAS_MAX) : undefined;
    const rollout = { minReadyMs: random.int(0, 3_000), maxUnavailable: random.int(1, 2) };
    const ask = (to: Operations) => to.applyService({ name, template, replicas, rollout });
    return { what: `apply ${name} ${JSON.stringify({ template, replicas })}`, ask };
  }

  /** No caller wants any of them any more. */
  removals(): readonly Wish["ask"][] {
    return NAMES.map((name) => (to) => to.removeService(name, "the end"));
  }
}

/** Rows of services on the disk. */
export class ServiceRows {
  readonly services = new Map<string, Service>();
  readonly slots = new Map<string, Slot>();

  clear(): void {
    this.services.clear();
    this.slots.clear();
  }

  /** `key`: without the name of its table. */
  put(table: "service" | "slot", key: string, row: unknown): void {
    const rows: Map<string, unknown> = table === "service" ? this.services : this.slots;
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
  }
}

/** A slot never has two jobs that have not ended. */
export function oneJobPerSlot(durable: Durable, moves: BatchMoves): Verdict {
  for (const { before, after } of moves.jobs) {
    const place = after?.instance;
    if (before !== undefined || place === undefined) continue;
    const open = [...durable.jobs.values()].filter(
      ({ instance, ...job }) =>
        instance?.service === place.service &&
        instance.name === place.name &&
        durable.unfinished(job) > 0,
    );
    if (open.length > 1) {
      const ids = open.map(({ id }) => id).join(" and ");
      return `instance ${place.name} of ${place.service} is job ${ids} at once`;
    }
  }
  return undefined;
}

/** The observed instances once all faults are over. */
export class InstanceWatch {
  readonly #durable: Durable;
  readonly #ran = new Set<string>();
  readonly #sinceMs: number;

  constructor(durable: Durable, nowMs: number) {
    this.#durable = durable;
    this.#sinceMs = nowMs;
  }

  /** Records which instances run, or ran since all faults were over. */
  look(): void {
    for (const { id, jobId } of this.#durable.services.slots.values()) {
      const task = this.#durable.tasks.get(`${jobId}.0`);
      if (task === undefined) continue;
      const endedMs = task.past.at(-1)?.endedAtMs ?? 0;
      if (task.state.kind === "running" || endedMs > this.#sinceMs) this.#ran.add(id);
    }
  }

  /** Of nodes with agents: each instance requests one. */
  #cores(): number {
    let cores = 0;
    for (const { capacity, clusterAgent } of this.#durable.nodes.values()) {
      if (clusterAgent === undefined) cores += Math.floor((capacity["cpu"] ?? 0) / 1_000);
    }
    return cores;
  }

  /** Exactly as many as wanted, and each has run. */
  verdict(): Verdict {
    const { services, slots } = this.#durable.services;
    const kept = [...slots.values()].filter((slot) => slot.isRemoved !== true);
    const hasRoom = kept.length <= this.#cores();
    for (const { id, replicas, removal } of services.values()) {
      if (removal !== undefined) continue;
      const own = kept.filter(({ service }) => service === id);
      const counted = own.filter(({ number }) => number !== undefined).length;
      if (counted !== replicas) return `service ${id} has ${counted} instances, not ${replicas}`;
      for (const { id: slot, ended, jobId } of own) {
        const task = this.#durable.tasks.get(`${jobId}.0`);
        const isOver = task !== undefined && isEnded(task.state);
        if (ended !== undefined) continue;
        if (isOver) return `instance ${slot} ended as job ${jobId} and nothing follows`;
        if (hasRoom && !this.#ran.has(slot)) return `instance ${slot} (job ${jobId}) never ran`;
      }
    }
    return undefined;
  }
}
