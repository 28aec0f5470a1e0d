import { describeChain } from "../../lib/errors.ts";
import type { Change } from "../../core/state/change.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AgentSession } from "./agent-session.ts";
import type { ControlLoop } from "../loop/control-loop.ts";
import type { TakeOffer } from "./taking.ts";

/**
 * Agents of clusters, which accept offered tasks. The server sends an agent its accepted tasks
 * like tasks assigned to a node. No agent polls: agents report their free capacity,
 * and receive tasks when there are some.
 */
export class Takers {
  readonly #loop: () => ControlLoop;
  readonly #clock: Clock;
  readonly #byCluster = new Map<string, Set<AgentSession>>();

  constructor(options: { readonly loop: () => ControlLoop; readonly clock: Clock }) {
    this.#loop = options.loop;
    this.#clock = options.clock;
  }

  add(session: AgentSession, cluster: string): void {
    const sessions = this.#byCluster.get(cluster) ?? new Set();
    this.#byCluster.set(cluster, sessions.add(session));
  }

  remove(session: AgentSession): void {
    for (const [cluster, sessions] of this.#byCluster) {
      if (sessions.delete(session) && sessions.size === 0) this.#byCluster.delete(cluster);
    }
  }

  /** A task was offered to the cluster. */
  offered(cluster: string): void {
    for (const session of this.#byCluster.get(cluster) ?? []) this.wake(session);
  }

  /** Offered tasks that were held back may be accepted now. */
  released(): void {
    for (const sessions of this.#byCluster.values()) {
      for (const session of sessions) this.wake(session);
    }
  }

  /** The agent has free capacity, or there are offered tasks. */
  wake(session: AgentSession): void {
    const offer = session.isClosed ? undefined : session.taking.begin();
    if (offer === undefined) return;
    this.#take(session, offer).then(
      (isMore) => {
        if (isMore) this.wake(session);
      },
      (error: unknown) => {
        session.taking.fail();
        session.goodbye(describeChain(error), true);
      },
    );
  }

  /** Returns whether more tasks can be accepted at once. */
  async #take(session: AgentSession, offer: TakeOffer): Promise<boolean> {
    const { nodeId, number } = session;
    const { room } = offer;
    const nowMs = this.#clock.nowMs();
    const command = { kind: "take-tasks", nodeId, session: number, room, nowMs } as const;
    const { taken, room: left } = await this.#loop().submit(command);
    return session.taking.end(offer, taken.length, left);
  }
}

/**
 * Whether offers that were held back may be accepted after a change: a job was released, a group resumed, an agent of a cluster is healthy
 * or no longer drained.
 */
export function mayReleaseOffers(change: Change): boolean {
  if (!("row" in change)) return false;
  if (change.table === "job") return change.row.changedBy !== undefined;
  return (
    change.table === "group" || (change.table === "node" && change.row.clusterAgent !== undefined)
  );
}
