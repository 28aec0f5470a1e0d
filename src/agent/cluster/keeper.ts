import { AppError, describeChain } from "../../lib/errors.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClusterDescription, ClusterSource } from "../../ports/cluster-source.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import { reconnectDelayMs } from "../agent.ts";
import { Alarm } from "../alarm.ts";
import { canonical } from "./description.ts";
import type { ClusterApi, RegisterOptions } from "./register.ts";
import { findCluster, registerCluster } from "./register.ts";
import { stateChanges } from "./state-changes.ts";
import type { TakenRuns } from "./taken-runs.ts";

export interface KeeperOptions extends RegisterOptions {
  readonly api: ClusterApi;
  readonly source: ClusterSource;
  readonly taken: Pick<TakenRuns, "observing" | "notObserved">;
  readonly refreshMs: number;
  /** Sent with the rest of the cluster's state. */
  readonly costPerNodeHour: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The capacity that the agent would accept changed. */
  onRoom(): void;
}

/** Errors that another attempt cannot change. */
const FINAL: ReadonlySet<string> = new Set([
  "invalid_argument",
  "unprocessable",
  "already_exists",
  "unauthenticated",
  "permission_denied",
]);

/**
 * Keeps the server's picture of a cluster up to date: its graph, its subsystems and its state.
 *
 *   refresh --time, changes--> refresh --a failure, with longer and longer pauses--> refresh
 *
 * Each refresh compares and sends the difference. So nothing depends on earlier updates, on who sent
 * them, or on whether the server is still the same.
 */
export class ClusterKeeper {
  readonly #options: KeeperOptions;
  readonly #alarm: Alarm;
  readonly #known = Promise.withResolvers<void>();
  #isDue = false;
  #resume: () => void = () => undefined;
  #refreshedAtMs = 0;
  #described: ClusterDescription | undefined;
  #describedAtMs = Number.NEGATIVE_INFINITY;
  #isRegistered = false;
  /** Whether another client's graph stayed in place, which is logged once. */
  #isKept = false;
  #troubles = new Map<string, string>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#wake());
    this.#known.promise.catch(() => undefined);
  }

  /** Resolves when the server knows the cluster; rejects with errors that waiting cannot cure. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  /** A run began or ended: looks up the free capacity soon, once for all changes that come together. */
  changed(): void {
    this.#alarm.wakeBy(this.#refreshedAtMs + limits.clusterRefreshMsMin);
  }

  /** The description of the cluster changed. */
  describeAgain(): void {
    this.#describedAtMs = Number.NEGATIVE_INFINITY;
    this.changed();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, refreshMs } = this.#options;
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop);
    for (let failures = 0; !signal.aborted; failures += 1) {
      this.#refreshedAtMs = clock.nowMs();
      if (await this.#refresh()) failures = -1;
      if (signal.aborted) break;
      const pauseMs = failures < 0 ? refreshMs : reconnectDelayMs(failures, random);
      this.#alarm.wakeBy(clock.nowMs() + pauseMs);
      await this.#woken();
    }
    signal.removeEventListener("abort", stop);
    this.#alarm.stop();
  }

  /** Changes during the refresh count too. */
  async #woken(): Promise<void> {
    if (!this.#isDue) await new Promise<void>((resolve) => (this.#resume = resolve));
    this.#isDue = false;
  }

  #wake(): void {
    this.#isDue = true;
    this.#resume();
  }

  /** Whether all steps succeeded. A fault of the scheduler does not hold up the steps at the server, or the reverse. */
  async #refresh(): Promise<boolean> {
    const state = await this.#tried("read the cluster's state", () => this.#observe());
    if (state === undefined) this.#options.taken.notObserved();
    this.#options.onRoom();
    const described = await this.#tried("describe the cluster", () => this.#describe());
    const isTold = await this.#tried("report the cluster's state", () => this.#tell(state));
    return state !== undefined && described === true && isTold === true;
  }

  async #observe(): Promise<Readonly<Record<string, number>>> {
    const { source, taken, costPerNodeHour } = this.#options;
    const observed = taken.observing();
    const { state, ...room } = await source.observe();
    observed(room);
    const cost = costPerNodeHour === undefined ? {} : { cost_per_node_hour: costPerNodeHour };
    return { ...state, ...cost };
  }

  async #describe(): Promise<true> {
    const { source, clock } = this.#options;
    if (clock.nowMs() - this.#describedAtMs < limits.discoveryIntervalMs) return true;
    const described = canonical(await source.describe().catch(this.#notDescribed));
    this.#describedAtMs = clock.nowMs();
    if (!isDeepEqual(described, this.#described)) this.#isRegistered = false;
    this.#described = described;
    return true;
  }

  readonly #notDescribed = (error: unknown): never => {
    if (error instanceof AppError && FINAL.has(error.code)) this.#known.reject(error);
    throw error;
  };

  /** Registers a cluster again that was deleted meanwhile. */
  async #tell(state: Readonly<Record<string, number>> | undefined): Promise<true> {
    const { api, cluster: name } = this.#options;
    let cluster = await findCluster(api, name);
    if (this.#described !== undefined && (!this.#isRegistered || cluster === undefined)) {
      await this.#register(this.#described);
      cluster = await findCluster(api, name);
    }
    if (cluster?.kind !== "pulling") return true;
    this.#known.resolve();
    const changes = state === undefined ? undefined : stateChanges(cluster, state);
    if (changes === undefined) return true;
    const values = Object.entries(changes.values).map(
      ([key, value]) => [key, { value: { case: "number" as const, value } }] as const,
    );
    const counters = changes.counters && { counters: { counters: [...changes.counters] } };
    await api.setClusterState({ cluster: name, values: Object.fromEntries(values), ...counters });
    return true;
  }

  async #register(described: ClusterDescription): Promise<void> {
    const { api, cluster, logger } = this.#options;
    try {
      const outcome = await registerCluster(api, described, this.#options);
      this.#isRegistered = true;
      if (outcome === "kept") {
        if (this.#isKept) return;
        this.#isKept = true;
        const hint = "another principal registered that graph; --update-graph replaces it";
        logger.warn(
          { cluster, hint },
          "the server has another graph of this cluster than the one found here",
        );
        return;
      }
      this.#isKept = false;
      if (outcome !== "unchanged") logger.info({ cluster }, `the cluster is ${outcome}`);
    } catch (error) {
      // Of two agents that register at the same time, the second one finds it done.
      const isSecond = error instanceof AppError && error.code === "already_exists";
      const isThere = isSecond && (await findCluster(api, cluster))?.kind === "pulling";
      if (isThere) throw new AppError("unavailable", "registered meanwhile", { cause: error });
      if (error instanceof AppError && FINAL.has(error.code)) this.#known.reject(error);
      throw error;
    }
  }

  /** Logs a fault when it begins, changes and ends, not each time that it recurs. */
  async #tried<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    const { logger, cluster } = this.#options;
    try {
      const value = await act();
      if (this.#troubles.delete(what)) logger.info({ cluster }, `can ${what} again`);
      return value;
    } catch (error) {
      const reason = describeChain(error);
      if (this.#troubles.get(what) !== reason) {
        this.#troubles.set(what, reason);
        logger.warn({ cluster, error }, `cannot ${what}; trying again`);
      }
      return undefined;
    }
  }
}
