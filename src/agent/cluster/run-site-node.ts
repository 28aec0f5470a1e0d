import { createHash } from "node:crypto";

import { describeChain } from "../../lib/errors.ts";
import { createAgent } from "../agent.ts";
import type { ClusterAgentFacts } from "../agent-facts.ts";
import { dialling, type RunAgentOptions } from "../run-agent.ts";
import type { OpenedExecutor } from "./open-executor.ts";

/** The cluster above whose nodes are sites: each node represents all edges of its site. */
const SITES = "sites";

export interface SiteNodeOptions
  extends
    Pick<
      RunAgentOptions,
      | "servers"
      | "cluster"
      | "labels"
      | "linkTimes"
      | "bandwidthBytes"
      | "version"
      | "clock"
      | "random"
      | "logger"
    >,
    Pick<ClusterAgentFacts, "leaseMs" | "onLost"> {
  /** The key of the site's agent. */
  readonly agentKey: string;
  readonly edges: NonNullable<OpenedExecutor["edges"]>;
  /** A share began, progressed or ended: the free edges have changed. */
  onShare(): void;
}

/**
 * Represents the edges of a site as one node with power, from when the site has power until `signal` fires. The server assigns it
 * shares of jobs with energy; each share is a job of the site. If the server refuses it for good, the site continues without shares.
 */
export async function runSiteNode(options: SiteNodeOptions, signal: AbortSignal): Promise<void> {
  const { servers, cluster: site, edges, agentKey, logger, leaseMs, onLost } = options;
  const { labels, linkTimes, bandwidthBytes, clock, random } = options;
  const { executor, power } = edges;
  await Promise.race([power.known, aborted(signal)]);
  if (signal.aborted) return;
  executor.onReport(() => options.onShare());
  const agent = createAgent({
    name: site,
    cluster: SITES,
    labels,
    linkTimes,
    bandwidthBytes,
    clock,
    random,
    logger,
    executor,
    version: options.version ?? "unknown",
    agentKey: createHash("sha256").update(`edges ${agentKey}`).digest("hex"),
    bootId: executor.name, // runs of a site continue when this machine restarts
    capacity: {},
    loss: { onLost, ...(leaseMs > 0 && { lostAfterMs: leaseMs }) },
    wantsJobSpec: true,
    power: () => power.now(),
    ...dialling(servers),
  });
  power.onChange(() => agent.powerChanged());
  try {
    await agent.run(signal);
  } catch (error) {
    const hint = `its edges get no shares of energy; remove the other node ${site} of cluster ${SITES}, or choose another name (--cluster)`;
    logger.error(
      { node: site, reason: describeChain(error), hint },
      "the server refused the node of this site",
    );
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
