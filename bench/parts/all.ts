import { refuse } from "../support/usage.ts";
import type { Case } from "../support/part.ts";
import { processes } from "./a-processes.ts";
import { arrayThrough, jobsThrough } from "./b-control-plane.ts";
import { arrays, bulk, oneByOne, oneByOneOverLibrary } from "./c-submit.ts";
import { latency } from "./d-latency.ts";
import { idleAgents } from "./e-agents.ts";
import { arrayMemory, backlog } from "./e-backlog.ts";
import { restart } from "./f-restart.ts";
import { placement } from "./g-placement.ts";
import { largeGraph, satisfy } from "./h-graph.ts";
import { handingOver, manyClusters, oneCluster, registering } from "./i-rainbow.ts";
import { cancels } from "./k-cancel.ts";
import { commits } from "./k-commits.ts";
import { ended } from "./k-ended.ts";
import { lists } from "./k-lists.ts";
import { bulkSchedule, longList, manyTasks, oneTask } from "./j-go-schedule.ts";
import { bytesUnderWay } from "./k-bytes.ts";
import {
  classes,
  graphClusters,
  graphClustersIdle,
  graphRequests,
  groups,
  limitedGroups,
  pinned,
} from "./k-planner.ts";
import { documents } from "./k-documents.ts";
import { idleWatches, watchedCommit } from "./k-watches.ts";
import { explanations } from "./k-explain.ts";
import { idleCpu } from "./k-idle-agents.ts";
import { thinJobs, thinOutputs, thinScript } from "./l-link.ts";
import { edgesMemory } from "./m-edges.ts";
import { nexusEdges } from "./m-nexus.ts";
import { nexusWatches } from "./m-watches.ts";
import { rikInstances, rikLatency, rikUnread, rikWide } from "./n-rik.ts";
import { sharesCore } from "./m-shares.ts";
import { fluxArray, fluxSingle, slurmArray, slurmSingle } from "./l-lower.ts";

const cases: readonly Case[] = [
  processes,
  arrayThrough,
  jobsThrough,
  bulk,
  oneByOne,
  oneByOneOverLibrary,
  arrays,
  latency,
  backlog,
  arrayMemory,
  idleAgents,
  restart,
  placement,
  satisfy,
  largeGraph,
  oneCluster,
  manyClusters,
  handingOver,
  registering,
  manyTasks,
  bulkSchedule,
  longList,
  oneTask,
  bytesUnderWay,
  groups,
  classes,
  pinned,
  graphClusters,
  graphClustersIdle,
  graphRequests,
  limitedGroups,
  documents,
  watchedCommit,
  idleWatches,
  idleCpu,
  explanations,
  lists,
  commits,
  ended,
  cancels,
  thinScript,
  thinJobs,
  thinOutputs,
  slurmSingle,
  slurmArray,
  fluxSingle,
  fluxArray,
  sharesCore,
  nexusEdges,
  nexusWatches,
  edgesMemory,
  rikInstances,
  rikUnread,
  rikLatency,
  rikWide,
];

/** The cases named by their part ("b") or in full ("b.array"), in their order; all by default. */
export function selectCases(names: readonly string[]): readonly Case[] {
  const isNamed = ({ id }: Case, name: string): boolean => id === name || id.startsWith(`${name}.`);
  const unknown = names.find((name) => !cases.some((each) => isNamed(each, name)));
  if (unknown !== undefined) {
    const known = cases.map(({ id }) => id).join(", ");
    refuse(`there is no part "${unknown}"; there are ${known}`);
  }
  return names.length === 0
    ? cases
    : cases.filter((each) => names.some((name) => isNamed(each, name)));
}
