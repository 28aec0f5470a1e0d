import type { JobId } from "../core/model/ids.ts";
import { jobId, nodeId, revision } from "../core/model/ids.ts";
import type { Job } from "../core/model/job/job.ts";
import { createRowLoader } from "../core/state/row-loader.ts";
import type { TickSettings } from "../core/state/command.ts";
import type { PlanPolicy } from "../core/scheduler/plan.ts";
import { createPolicy, drawSeed, type PolicyNames } from "../core/scheduler/policy.ts";
import { State } from "../core/state/state.ts";
import type { LinkTimes } from "../core/model/node/heartbeat.ts";
import type { AppError } from "../lib/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { Logger } from "../ports/logger.ts";
import type { Random } from "../ports/random.ts";
import type { SecretHasher } from "../ports/secret-hasher.ts";
import type { Store } from "../ports/store.ts";
import { AgentSessions } from "./sessions/agent-sessions.ts";
import { ControlLoop } from "./loop/control-loop.ts";
import { createOperations } from "./operations/create-operations.ts";
import { type Authenticator, createAuthenticator } from "./credentials/authenticator.ts";
import { Credentials } from "./credentials/credentials.ts";
import { ProgressBoard } from "./progress/progress-board.ts";
import { NodeLog } from "./sessions/node-log.ts";
import type { OperationsAccess } from "./operations/operations.ts";
import { startupStep } from "./loop/startup-step.ts";
import { logRemovals } from "./removal-log.ts";
import { Ticker } from "./loop/ticker.ts";
import { WatchHub } from "./watch/watch-hub.ts";

export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly hasher: SecretHasher;
  /** Closed with the control plane. */
  readonly reader: DocumentReader;
  readonly logger: Logger;
  readonly version: string;
  /** The policies that choose nodes and clusters. */
  readonly policies: PolicyNames;
  readonly settings: TickSettings;
  /** Times of links to agents that request no times of their own. */
  readonly linkTimes?: LinkTimes | undefined;
  readonly soon: (run: () => void) => void;
  readonly onBroken: (error: AppError) => void;
}

/** The control plane without any transport. Doors and streams of agents connect to it. */
export interface ControlPlane {
  readonly operations: OperationsAccess;
  readonly authenticator: Authenticator;
  readonly sessions: AgentSessions;
  /** For tests: the current state, durable or not. */
  readonly state: State;
  close(): Promise<void>;
}

/** Loads the store, marks all agents as disconnected, and starts to serve. */
export async function openControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { store, clock, logger } = options;
  let rows = 0;
  const progress = (): string => `${rows.toLocaleString("en-US")} rows so far`;
  const empty = new State({ quarantine: options.settings.quarantine });
  const loading = loadState(empty, store, (count) => (rows += count));
  const state = await startupStep(
    { what: "all rows to load", advice: "", progress },
    loading,
    options,
  );
  const jobOf = (id: JobId): Job | undefined => state.jobs.get(id)?.job;
  const clusterOf = (node: string): string | undefined =>
    state.nodes.get(nodeId(node))?.node.cluster;
  const hub = new WatchHub(state.revision, {
    source: { jobOf, revisionOf: (id) => state.jobs.revisionOf(id), clusterOf },
    soon: options.soon,
  });
  const policy = openPolicy(options);
  let nodeLog: NodeLog | undefined = undefined;
  const loop: ControlLoop = new ControlLoop({
    state,
    store,
    clock,
    logger,
    policy,
    soon: options.soon,
    onCommit: (commit) => {
      sessions.committed(commit);
      nodeLog?.committed(commit);
      logRemovals(commit, logger);
      hub.publish(commit);
      ticker.arrange();
    },
    along: () => progressBoard.along(),
    onBroken: options.onBroken,
  });
  const progressBoard = new ProgressBoard({ loop: () => loop, clock });
  const sessions = new AgentSessions({
    loop: () => loop,
    jobOf,
    clock,
    logger,
    progressBoard,
    times: options.linkTimes,
  });
  const ticker = new Ticker({ state, loop, clock, logger, settings: options.settings });
  const lastJobId = jobId(store.lastId());
  await loop.submit({ kind: "recover", nowMs: clock.nowMs(), lastJobId });
  ticker.arrange();
  const known = state.nodes.values().map(({ node }) => node);
  nodeLog = new NodeLog(known, { logger, clock });
  const close = async (): Promise<void> => {
    ticker.close();
    await options.reader.close();
    sessions.close();
    progressBoard.close();
    nodeLog?.close();
    hub.close();
    await loop.stop();
    await store.close();
  };
  const credentials = new Credentials({ hasher: options.hasher, state: () => state });
  const operations = createOperations({
    loop,
    hub,
    sessions,
    progressBoard,
    clock,
    policy,
    random: options.random,
    reader: options.reader,
    credentials,
    version: options.version,
    store: store.name,
    backup: () => store.backup(),
  });
  const authenticator = createAuthenticator(credentials);
  return { operations, authenticator, sessions, state, close };
}

/** Logs the seed, also a random one, so that the same choices can be repeated. */
function openPolicy({ policies, random, logger }: ControlPlaneOptions): PlanPolicy {
  const fraction = (): number => random.fraction();
  if (policies.policy !== "random") return createPolicy(policies, fraction);
  const seed = policies.seed ?? drawSeed(fraction);
  logger.info(
    { seed },
    "nodes are chosen at random; start with --policy-seed and this seed to repeat the choices",
  );
  return createPolicy({ ...policies, seed }, fraction);
}

async function loadState(
  state: State,
  store: Store,
  onRows: (count: number) => void,
): Promise<State> {
  state.startLoading();
  const load = createRowLoader(state);
  let mistake: { readonly error: unknown } | undefined;
  for await (const rows of store.load()) {
    onRows(rows.length);
    try {
      if (mistake === undefined) {
        for (const row of rows) load(row.key, row.value, revision(row.revision));
      }
    } catch (error) {
      // Rows that contradict each other most likely mean that some are missing. The store finds out
      // when it has read the rest, and its error says what to do.
      mistake = { error };
    }
  }
  if (mistake !== undefined) throw mistake.error;
  state.finishLoading();
  state.continueAfter(revision(store.revision()));
  state.clusters.graphs.layOutAll();
  return state;
}
