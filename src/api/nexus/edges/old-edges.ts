import { createHmac } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";
import { EDGE_LABEL, type EdgeShare, edgeOf } from "../model/project.ts";
import type { PowerNodeView } from "../model/views.ts";
import type { Tree } from "../tree/tree.ts";
import { EdgeLink, type ShareRun } from "./edge-link.ts";

/** The label of nodes that have an agent of nexus. */
const AGENT_LABEL = "agent";
const AGENT = "nexus";

/**
 * The power of an old agent. It reports 100 W and then draws 5, 10, 22 or 37 W, chosen again every few
 * minutes: shares are sized by the mean.
 */
export const OLD_WATTS = 18;
/** The smallest power that it draws: a share that takes far longer was given up. */
const OLD_WATTS_MIN = 5;

export interface OldEdgesOptions {
  readonly sessions: AgentSessions;
  readonly tree: Tree;
  /** The secret of this server: it recognizes nodes by it. */
  readonly secret: string;
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** Edges whose agents know only the tree. */
export class OldEdges {
  readonly #options: OldEdgesOptions;
  readonly #links = new Map<string, EdgeLink>();
  readonly #timer: NodeJS.Timeout;
  /** When the last watch of an old agent ended; undefined: there is one, or never was. */
  #deserted: { sinceMs: number } | undefined;
  #watches = 0;
  #hasWatched = false;

  constructor(options: OldEdgesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.review(), limits.nexusEdgeBeatMs).unref();
    // Their agents continued while the server was away, and will not register again.
    for (const node of options.tree.nodes.values()) {
      if (isOldEdge(node)) this.#open(node.name, node.cluster, edgeOf(node));
    }
  }

  /** A watch of JobInfos was opened; call the returned function when it ends. */
  watched(userAgent: string): () => void {
    if (!userAgent.startsWith("eps-edge-agent")) return () => undefined;
    this.#watches++;
    this.#hasWatched = true;
    this.#deserted = undefined;
    return () => {
      if (--this.#watches === 0) this.#deserted = { sinceMs: this.#options.nowMs() };
    };
  }

  /** An agent registers its edge: a node, without power until it reports some. */
  async attach(site: string, edge: string): Promise<void> {
    const { tree } = this.#options;
    const name = this.#nodeName(site, edge);
    const known = tree.nodes.get(name);
    if (known !== undefined && !isOldEdge(known)) {
      throw new AppError("already_exists", `${name} is a node with an agent of Busbar`);
    }
    await this.#linkTo(name, site, edge).connected;
  }

  /** Its agent reports that it works. */
  async power(node: PowerNodeView, watts: number): Promise<void> {
    if (!isOldEdge(node)) return;
    const link = this.#linkTo(node.name, node.cluster, edgeOf(node));
    await link.connected;
    link.setPower(watts > 0 ? OLD_WATTS : 0);
  }

  /** An agent's report about its share; returns whether it changes its task. */
  async report(
    share: EdgeShare,
    state: { readonly progress: number; readonly startMs: number; readonly endMs: number },
  ): Promise<boolean> {
    const { task } = share;
    const node = this.#options.tree.nodes.get(task.node ?? "");
    if (node === undefined || !isOldEdge(node)) {
      throw new AppError("permission_denied", "only the agent of its node may report on a share");
    }
    const link = this.#linkTo(node.name, node.cluster, edgeOf(node));
    await link.connected;
    const run = runOf(share);
    if (state.progress >= 100) {
      link.ended(run, task.startedAtMs ?? state.startMs, state.endMs);
      return true;
    }
    const isFirst = task.startedAtMs === undefined;
    if (isFirst) link.started(run, state.startMs);
    if (state.progress > 0) link.progress(run, state.progress);
    return isFirst;
  }

  /** Its node will be removed. */
  detach(node: string): void {
    this.#links.get(node)?.close("the edge was deleted");
  }

  isOld(node: string): boolean {
    const known = this.#options.tree.nodes.get(node);
    return known !== undefined && isOldEdge(known);
  }

  /** Renews agents that may be alive, and ends those that hold shares without working on them. */
  review(): void {
    const nowMs = this.#options.nowMs();
    const isDeserted =
      this.#hasWatched &&
      this.#deserted !== undefined &&
      nowMs - this.#deserted.sinceMs > limits.nexusDesertedMs;
    for (const [node, link] of this.#links) {
      const overdue = this.#overdue(node, nowMs);
      if (isDeserted) link.close("no agent of nexus watches any more");
      else if (overdue !== undefined) link.close(overdue);
      else link.beat();
    }
  }

  #overdue(node: string, nowMs: number): string | undefined {
    for (const { task, name } of this.#options.tree.work.of(node).open) {
      const { startedAtMs, assignedAtMs = nowMs, share } = task;
      const workMs = ((share?.wattSeconds ?? 0) / OLD_WATTS_MIN) * 1_000;
      const dueMs =
        startedAtMs === undefined
          ? assignedAtMs + limits.nexusEdgeTickMs * TICKS
          : startedAtMs + workMs * SLACK + limits.nexusEdgeTickMs * TICKS;
      if (nowMs > dueMs) return `${name} makes no progress`;
    }
    return undefined;
  }

  #linkTo(node: string, site: string, edge: string): EdgeLink {
    return this.#links.get(node) ?? this.#open(node, site, edge);
  }

  #open(node: string, site: string, edge: string): EdgeLink {
    const { sessions, tree, secret, nowMs, logger } = this.#options;
    const begun = tree.work.of(node).open.filter(({ task }) => task.startedAtMs !== undefined);
    const watts = tree.nodes.get(node)?.power?.watts ?? 0;
    const link: EdgeLink = new EdgeLink(
      {
        sessions,
        node,
        site,
        nowMs,
        agentKey: createHmac("sha256", secret).update(node).digest("hex"),
        labels: { [AGENT_LABEL]: AGENT, [EDGE_LABEL]: edge },
        onClosed: (reason) => {
          if (this.#links.get(node) === link) this.#links.delete(node);
          logger.info({ node, reason }, "a nexus edge has disconnected");
        },
      },
      watts,
      begun.map(runOf),
    );
    this.#links.set(node, link);
    return link;
  }

  /** Node names are unique over all sites. */
  #nodeName(site: string, edge: string): string {
    const other = this.#options.tree.nodes.get(edge);
    return other === undefined || other.cluster === site ? edge : `${site}.${edge}`;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const link of this.#links.values()) link.close("the server is stopping");
  }
}

/** How often an old agent may check its shares without beginning one. */
const TICKS = 3;
const SLACK = 1.5;

export const isOldEdge = ({ labels }: Pick<PowerNodeView, "labels">): boolean =>
  labels[AGENT_LABEL] === AGENT && labels[EDGE_LABEL] !== undefined;

const runOf = ({ task }: EdgeShare): ShareRun => ({
  job: Number(task.jobId),
  index: task.index,
  attempt: task.attempt,
});
