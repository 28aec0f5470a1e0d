import { createHash } from "node:crypto";

import { createMovingClient } from "../../client/several-servers.ts";
import { parseGraphText, toJgf } from "../../core/graph/jgf.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { factsOfCapacity, parseNodeFacts } from "../../core/model/node/node-facts.ts";
import { withField } from "../../lib/errors.ts";
import type { ClusterDescription, ClusterSource } from "../../ports/cluster-source.ts";
import { createAgent } from "../agent.ts";
import { withSubsystems } from "../discovery/with-subsystems.ts";
import { readAgentKey } from "../identity.ts";
import { readBootId } from "../proc.ts";
import { dialling, type RunAgentOptions } from "../run-agent.ts";
import type { ClusterAgentFacts } from "../agent-facts.ts";
import { withMachine } from "./description.ts";
import { ClusterKeeper } from "./keeper.ts";
import { NeedsJournal } from "./needs-journal.ts";
import type { SchedulerOptions } from "./open-executor.ts";
import { openClusterExecutor } from "./open-executor.ts";
import { createProcessSource } from "./process-source.ts";
import type { TakeRule } from "./room.ts";
import { runSiteNode } from "./run-site-node.ts";
import { TakenRuns } from "./taken-runs.ts";

export interface RunClusterAgentOptions
  extends RunAgentOptions, SchedulerOptions, Pick<ClusterAgentFacts, "leaseMs" | "onLost"> {
  /** The name of this machine, where the cluster is this machine. */
  readonly machine: string;
  readonly take: TakeRule;
  readonly refreshMs: number;
  readonly costPerNodeHour?: number;
  /** A document to register instead of the discovered graph. */
  readonly graph?: string;
  /** Whether the agent replaces a graph that another client registered. */
  readonly updatesGraph: boolean;
}

/**
 * Runs the agent of a whole cluster until `signal` fires: it registers the cluster, then accepts offered
 * tasks and reports their progress. Accepted tasks continue without it, and the next agent over the same
 * directory finds them.
 */
export async function runClusterAgent(
  options: RunClusterAgentOptions,
  signal: AbortSignal,
): Promise<void> {
  const { directory, clock, random, logger, discovery, servers, take } = options;
  const graph = options.graph === undefined ? undefined : readGraph(options.graph);
  const agentKey = readAgentKey(directory, random);
  const fingerprint = fingerprintOf(agentKey);
  const opened = await openClusterExecutor({ ...options, fingerprint });
  const api = createMovingClient(servers);
  try {
    const changed = (): void => {
      agent.roomChanged();
      keeper.changed();
    };
    const taken = new TakenRuns(opened.executor, new NeedsJournal(directory), changed);
    const { executor: _kind, ...rest } = options;
    const agent = createAgent({
      ...rest,
      capacity: {}, // these belong to the cluster, not to the agent
      version: options.version ?? "unknown",
      executor: taken,
      agentKey,
      // Runs of a scheduler continue when this machine restarts.
      bootId: options.executor === "process" ? readBootId() : options.executor,
      ...dialling(servers),
      clusterAgent: {
        leaseMs: options.leaseMs,
        onLost: options.onLost,
        wantsJobSpec: options.executor === "busbar",
        room: () => taken.room(take),
      },
    });
    const facts = (): NodeFacts =>
      discovery === undefined
        ? factsOfCapacity(options.capacity)
        : parseNodeFacts(
            withSubsystems(discovery.json, { limits: opened.executor.enforced ?? [] }),
            "facts",
          );
    // Another Busbar describes its own nodes.
    const isFar = options.executor === "busbar";
    const own = opened.source ?? createProcessSource({ ...options, facts, taken });
    const keeper = new ClusterKeeper({
      cluster: options.cluster,
      agent: { name: options.name, fingerprint },
      replaces: replacesOf(options),
      api,
      source: {
        observe: () => own.observe(),
        describe: describerOf(own, graph, isFar ? undefined : facts),
      },
      taken,
      refreshMs: options.refreshMs,
      costPerNodeHour: options.costPerNodeHour,
      clock,
      random,
      logger,
      onRoom: () => agent.roomChanged(),
    });
    discovery?.start(() => keeper.describeAgain());
    opened.source?.onChange?.(() => keeper.describeAgain());
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const { edges } = opened;
    const onShare = (): void => keeper.changed();
    const sharing = edges && runSiteNode({ ...rest, agentKey, edges, onShare }, either);
    try {
      await runBoth(keeper, agent, signal);
    } finally {
      over.abort();
      await sharing;
    }
  } finally {
    discovery?.close();
    api.close();
    await opened.executor.close();
  }
}

/** The session begins when the server knows the cluster. When either ends, both end. */
async function runBoth(
  keeper: Pick<ClusterKeeper, "known" | "run">,
  agent: { run(signal: AbortSignal): Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const keeping = keeper.run(either);
  const stopped = new Promise<void>((resolve) => {
    if (either.aborted) resolve();
    else either.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    await Promise.race([keeper.known, stopped]);
    if (!either.aborted) await agent.run(either);
  } finally {
    over.abort();
    await keeping;
  }
}

/** Distinguishes agents without revealing the key. */
const fingerprintOf = (agentKey: string): string =>
  createHash("sha256").update(`graph ${agentKey}`).digest("hex").slice(0, 16);

/** A scheduler describes the whole cluster, whichever agent asks; a machine describes only itself. */
function replacesOf({
  executor,
  updatesGraph,
  graph,
}: RunClusterAgentOptions): "own" | "agents" | "all" {
  if (updatesGraph) return "all";
  return executor === "process" && graph === undefined ? "own" : "agents";
}

function describerOf(
  source: ClusterSource,
  graph: ClusterDescription["graph"] | undefined,
  facts: (() => NodeFacts) | undefined,
): () => Promise<ClusterDescription> {
  if (facts === undefined) {
    return graph === undefined ? () => source.describe() : async () => ({ graph, subsystems: [] });
  }
  if (graph !== undefined) return async () => withMachine({ graph, subsystems: [] }, facts());
  return async () => withMachine(await source.describe(), facts());
}

function readGraph(text: string): ClusterDescription["graph"] {
  try {
    return toJgf(parseGraphText(text));
  } catch (error) {
    throw withField(error, () => "--graph");
  }
}
