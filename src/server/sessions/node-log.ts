import type { NodeId } from "../../core/model/ids.ts";
import type { Node, NodeLink } from "../../core/model/node/node.ts";
import { lossPolicyOf } from "../../core/model/node/node.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Commit } from "../loop/open-batch.ts";

type Event = "node disconnected" | "node lost" | "node returned";

interface Burst {
  said: number;
  readonly unsaid: NodeId[];
  unsaidTotal: number;
}

/**
 * Logs the name of each node that disconnects, is lost or returns. When many do so at once, the first
 * have a line each and the others one line together.
 */
export class NodeLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #links = new Map<NodeId, NodeLink>();
  readonly #bursts = new Map<Event, Burst>();
  #cancelTimer: (() => void) | undefined;

  /** `nodes`: the nodes at the start, which are not logged. */
  constructor(nodes: Iterable<Node>, options: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = options.logger;
    this.#clock = options.clock;
    for (const { id, link } of nodes) this.#links.set(id, link);
  }

  committed({ changes }: Commit): void {
    for (const change of changes) {
      if (change.table !== "node") continue;
      if ("row" in change) this.#changed(change.row);
      else this.#links.delete(change.removed);
    }
  }

  close(): void {
    this.#cancelTimer?.();
    this.#endBursts();
  }

  #changed(node: Node): void {
    const { id, link } = node;
    const before = this.#links.get(id);
    this.#links.set(id, link);
    if (before === undefined || before.kind === link.kind) return;
    if (link.kind === "connected") {
      this.#say("node returned", id, { awayMs: link.sinceMs - before.sinceMs, was: before.kind });
    } else {
      const lastHeard = new Date(link.sinceMs).toISOString();
      const event = link.kind === "lost" ? "node lost" : "node disconnected";
      this.#say(event, id, { lastHeard, onLost: lossPolicyOf(node) });
    }
  }

  #say(event: Event, node: NodeId, fields: Readonly<Record<string, unknown>>): void {
    const burst = this.#bursts.get(event) ?? { said: 0, unsaid: [], unsaidTotal: 0 };
    this.#bursts.set(event, burst);
    this.#cancelTimer ??= this.#clock.after(limits.nodeLogBurstMs, () => {
      this.#cancelTimer = undefined;
      this.#endBursts();
    });
    if (burst.said < limits.nodeLogLinesMax) {
      burst.said += 1;
      this.#write(event, { node, ...fields });
      return;
    }
    burst.unsaidTotal += 1;
    if (burst.unsaid.length < limits.nodeLogNamesMax) burst.unsaid.push(node);
  }

  #endBursts(): void {
    for (const [event, { unsaid, unsaidTotal }] of this.#bursts) {
      if (unsaidTotal === 0) continue;
      const more = unsaidTotal - unsaid.length;
      this.#write(event, { nodes: unsaid, ...(more > 0 && { more }) });
    }
    this.#bursts.clear();
  }

  #write(event: Event, fields: Readonly<Record<string, unknown>>): void {
    if (event === "node returned") this.#logger.info(fields, event);
    else this.#logger.warn(fields, event);
  }
}

/** An agent reported how far its clock is ahead of the server's; 0: it agrees again. */
export function logClock(logger: Logger, node: NodeId, aheadMs: number): void {
  if (aheadMs === 0) return logger.info({ node }, "the node's clock agrees again");
  const text = "the node's clock differs from the server's; times are shifted by as much";
  return logger.warn({ node, clockOffsetMs: aheadMs }, text);
}

/** An agent reported why it cannot start processes; undefined: it can again. */
export function logHealth(logger: Logger, node: NodeId, sickness: string | undefined): void {
  if (sickness === undefined) return logger.info({ node }, "node is healthy again");
  return logger.warn({ node, sickness }, "node is unhealthy");
}
