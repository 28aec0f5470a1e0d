import { noCounts } from "../../../core/model/progress.ts";
import type { SatisfyView } from "../../../server/views/satisfy-view.ts";
import type {
  ClusterView,
  GroupView,
  JobView,
  NodeView,
  StatsView,
  TaskView,
} from "../../../server/views/views.ts";

export const aJob = (fields: Partial<JobView> = {}): JobView => ({
  id: "17",
  spec: {
    name: "sleep",
    group: "default",
    command: ["sleep", "1"],
    resources: { cpu: 1 },
    priority: 0,
    killGraceMs: 5_000,
    outputLimitBytes: 1_024,
  },
  state: "running",
  tasks: { ...noCounts(), running: 1 },
  taskTotal: 1,
  submittedAtMs: 1_700_000_000_000,
  submittedBy: "local",
  startedAtMs: 1_700_000_000_100,
  revision: 5,
  ...fields,
});

export const aTask = (fields: Partial<TaskView> = {}): TaskView => ({
  id: "17",
  jobId: "17",
  index: 0,
  state: "running",
  attempt: 1,
  node: "n1",
  cluster: "local",
  past: [],
  revision: 4,
  ...fields,
});

export const aNode = (fields: Partial<NodeView> = {}): NodeView => ({
  name: "n1",
  cluster: "local",
  state: "connected",
  capacity: { cpu: 4, memory: 1_024 },
  used: { cpu: 0.5 },
  labels: { zone: "a" },
  tasks: 1,
  held: 0,
  isClusterAgent: false,
  connectedAtMs: 1_700_000_000_000,
  agentVersion: "0.1.0",
  revision: 5,
  ...fields,
});

export const aGroup = (fields: Partial<GroupView> = {}): GroupView => ({
  name: "default",
  weight: 1,
  owner: "",
  tasks: noCounts(),
  used: {},
  revision: 3,
  ...fields,
});

export const aCluster = (fields: Partial<ClusterView> = {}): ClusterView => ({
  name: "local",
  kind: "managed",
  createdAtMs: 1_700_000_000_000,
  nodes: 2,
  nodesConnected: 1,
  capacity: { cpu: 4 },
  used: { cpu: 0.5 },
  tasks: 1,
  vertices: {},
  subsystems: [],
  state: [],
  counters: [],
  credentials: {},
  revision: 2,
  ...fields,
});

export const aSatisfied = (fields: Partial<SatisfyView> = {}): SatisfyView => ({
  ever: ["blue"],
  now: ["blue"],
  tasks: [
    {
      name: "task-0",
      clusters: [
        {
          cluster: "blue",
          kind: "pulling",
          ever: true,
          now: true,
          slots: 3,
          alternative: 0,
          reasons: [],
        },
      ],
    },
  ],
  oneAfterOther: [],
  revision: 5,
  ...fields,
});

export const someStats = (fields: Partial<StatsView> = {}): StatsView => ({
  version: "1.2.3",
  store: "memory",
  revision: 5,
  uptimeMs: 1_500,
  jobs: {
    pending: 1,
    accepted: 0,
    running: 2,
    succeeded: 3,
    failed: 0,
    cancelled: 0,
    expired: 0,
    skipped: 0,
  },
  tasks: { ...noCounts(), running: 2 },
  nodes: {
    connected: 1,
    disconnected: 0,
    draining: 0,
    drained: 0,
    lost: 1,
    unhealthy: 0,
    quarantined: 0,
  },
  capacity: { cpu: 4 },
  used: { cpu: 0.5 },
  watches: 0,
  agentSessions: 1,
  memoryBytes: 1_000_000,
  commits: 9,
  commitMsMean: 0.5,
  commitMsMax: 4,
  commitMsP99: 2,
  placements: 7,
  placementsRefused: 0,
  progressReports: { taken: 2, late: 1 },
  tasksEnded: 3,
  heldBegun: 2,
  heldReturned: 1,
  usage: { cpuMs: 1_500, wallMs: 2_000.5, majorFaults: 4 },
  ...fields,
});
