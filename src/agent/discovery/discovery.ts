import type { NodeFacts, Software } from "../../core/model/node/node-facts.ts";
import { offeredFacts } from "../../core/model/node/node-facts.ts";
import type { Resources } from "../../core/model/resources.ts";
import { describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { Hardware } from "./find-facts.ts";
import { findHardware, findSoftware, NO_HARDWARE, toFacts } from "./find-facts.ts";
import type { KeptSoftware } from "./kept-software.ts";
import type { Machine } from "./machine.ts";
import { Spack } from "./spack.ts";

export interface DiscoveryOptions {
  readonly machine: Machine;
  /** The facts found before the first Hello. */
  readonly hardware: Hardware;
  /** The capacity that the agent offers. */
  readonly capacity: Resources;
  readonly kept: KeptSoftware;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * The facts of the machine, kept up to date.
 *
 *   idle --time, refresh--> looking --done--> idle
 *                              |  refresh: looks once more when done
 *
 * The first discovery of software follows after Hello, which must not wait for it.
 */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #spack = new Spack();
  #json: string;
  #state: "idle" | "looking" | "looking-again" | "closed" = "idle";
  #cancelTimer: (() => void) | undefined;
  #listener: () => void = () => undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#json = this.#describe(options.hardware, options.kept.load());
  }

  /** The newest facts as JSON. */
  get json(): string {
    return this.#json;
  }

  /** Starts discovery, and calls back whenever the facts have changed. */
  start(onChange: () => void): void {
    this.#listener = onChange;
    this.#lookAfter(limits.softwareDelayMs);
  }

  refresh(): void {
    if (this.#state === "idle") void this.#look();
    else if (this.#state === "looking") this.#state = "looking-again";
  }

  close(): void {
    this.#state = "closed";
    this.#cancelTimer?.();
  }

  #lookAfter(delayMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.refresh());
  }

  async #look(): Promise<void> {
    const { machine, kept, logger } = this.#options;
    this.#state = "looking";
    this.#cancelTimer?.();
    try {
      const hardware = await findHardware(machine);
      const software = await findSoftware(machine, hardware, this.#spack);
      if (this.#isClosed) return;
      const json = this.#describe(hardware, software);
      if (json !== this.#json) {
        this.#json = json;
        kept.save(software);
        logger.info(
          { subsystems: this.#counts(software) },
          "discovery found changes on this machine",
        );
        this.#listener();
      }
    } catch (error) {
      // Errors of discovery must not end an agent that has runs.
      logger.warn({ error: describeChain(error) }, "discovery of this machine failed");
    }
    this.#looked();
  }

  #looked(): void {
    if (this.#isClosed) return;
    const again = this.#state === "looking-again";
    this.#state = "idle";
    // Spreads the discoveries of agents that were started together.
    const jitter = 0.9 + 0.2 * this.#options.random.fraction();
    this.#lookAfter(again ? 0 : limits.discoveryIntervalMs * jitter);
  }

  get #isClosed(): boolean {
    return this.#state === "closed";
  }

  #describe(hardware: Hardware, software: Software): string {
    return JSON.stringify(offeredFacts(toFacts(hardware, software), this.#options.capacity));
  }

  #counts(software: Software): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(software).map(([name, { length }]) => [name, length]));
  }
}

/** The hardware of the machine, or nothing when discovery takes too long: then the agent sends it later. */
export async function findHardwareInTime(machine: Machine, clock: Clock): Promise<Hardware> {
  return await new Promise((resolve) => {
    const cancel = clock.after(limits.discoveryMsMax, () => resolve(NO_HARDWARE));
    const found = (hardware: Hardware): void => {
      cancel();
      resolve(hardware);
    };
    findHardware(machine).then(found, () => found(NO_HARDWARE));
  });
}

/** All facts at once, for callers that can wait. */
export async function findFacts(
  machine: Machine,
  capacityOf: (hardware: Hardware) => Resources,
): Promise<NodeFacts> {
  const hardware = await findHardware(machine);
  const software = await findSoftware(machine, hardware, new Spack());
  return offeredFacts(toFacts(hardware, software), capacityOf(hardware));
}
