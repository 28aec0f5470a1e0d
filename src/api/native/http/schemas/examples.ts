/** An example request of an operation. */
interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** By name; the page fills in the first. */
  readonly bodies?: Readonly<Record<string, unknown>>;
}

const id = { id: "1" };
const node = { name: "n1" };
const cluster = { name: "blue" };
const group = { name: "physics" };
const service = { name: "web" };
const instance = { name: "web", instance: "web-blue" };
const subsystem = { name: "blue", subsystem: "spack" };

const JOBSPEC = `version: 1
resources:
  core: { type: core, count: 1 }
tasks:
  - name: hello
    command: [echo, hello]
    resources: core
`;
const REQUEST = [[{ type: "node", count: 1, with: [{ type: "core", count: 2 }] }]];
const vertex = (type: string, at: number) => ({
  metadata: { type, basename: type, name: `${type}${at}`, id: at, size: 1 },
});
const GRAPH = {
  graph: {
    nodes: {
      blue0: vertex("cluster", 0),
      node0: vertex("node", 0),
      core0: vertex("core", 0),
      core1: vertex("core", 1),
    },
    edges: [
      { source: "blue0", target: "node0", metadata: { subsystem: "containment" } },
      { source: "node0", target: "core0", metadata: { subsystem: "containment" } },
      { source: "node0", target: "core1", metadata: { subsystem: "containment" } },
    ],
  },
};
const SOFTWARE = {
  graph: {
    nodes: { spack0: { metadata: { type: "spack", basename: "spack", name: "spack", id: 0 } } },
    edges: [{ source: "node0", target: "spack0", metadata: { subsystem: "spack" } }],
  },
};

/**
 * Requests that the document shows and its page fills in, by operation. They work in this order (a test sends them all): job 1 is the first
 * that is submitted and job 2 runs, n1 is a node, blue and green are the clusters that are registered here.
 */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  submitJobs: {
    bodies: {
      one: { command: ["echo", "hello"], resources: { cpu: 1, memory: "64MiB" } },
      many: {
        jobs: [
          { name: "prepare", script: "#!/bin/sh\nsleep 30\n", labels: { project: "demo" } },
          { name: "step", command: ["true"], array: "0-2", dependsOn: [{ on: ["prepare"] }] },
          { name: "there", command: ["true"], placement: { cluster: "blue" } },
          { name: "later", command: ["true"], hold: true },
        ],
        allowUnsatisfiable: true,
      },
    },
  },
  tryJobs: { bodies: { one: { command: ["true"], resources: { cpu: 1 } } } },
  submitJobspec: { bodies: { one: { jobspec: JOBSPEC, allowUnsatisfiable: true } } },
  tryJobspec: { bodies: { one: { jobspec: JOBSPEC } } },
  listJobs: { query: { state: ["running", "succeeded"], pageSize: 20 } },
  countJobs: { query: { group: "default" } },
  listNodes: { query: { state: "connected" } },
  getJob: { path: id },
  cancelJob: { path: id, bodies: { one: { reason: "not needed any more" } } },
  holdJob: { path: { id: "3" }, bodies: { one: { reason: "its input is not complete" } } },
  releaseJob: { path: { id: "3.1" }, bodies: { one: {} } },
  requeueJob: { path: { id: "2" }, bodies: { one: { reason: "its node is slow" } } },
  updateJob: { path: { id: "3" }, bodies: { one: { priority: 5, timeLimitMs: 60_000 } } },
  rerunJob: { path: id, bodies: { one: { idempotencyKey: "again" } } },
  explainJob: { path: id },
  listTasks: { path: id },
  getTask: { path: id },
  reportProgress: {
    path: { id: "2" },
    bodies: { one: { percent: 40, message: "step 2 of 5" } },
  },
  readOutput: { path: id },
  getNode: { path: node },
  setNode: { path: node, bodies: { one: { onLost: "keep", lostAfterMs: 60_000 } } },
  removeNode: { path: node },
  drainNode: { path: node, bodies: { one: { reason: "a new kernel" } } },
  undrainNode: { path: node },
  registerCluster: {
    bodies: {
      one: { name: "blue", graph: GRAPH },
      withCredentials: { name: "green", graph: GRAPH, withCredentials: true },
    },
  },
  getCluster: { path: cluster },
  deleteCluster: { path: { name: "green" } },
  getClusterGraph: { path: cluster },
  addSubsystem: { path: subsystem, bodies: { one: SOFTWARE } },
  getSubsystem: { path: subsystem },
  removeSubsystem: { path: subsystem },
  setClusterState: { path: cluster, bodies: { one: { nodes_free: 20, zone: "north" } } },
  setClusterCounters: {
    path: cluster,
    bodies: { one: { counters: [{ key: "nodes_free", by: "nodes" }] } },
  },
  listOfferedTasks: { path: cluster },
  acceptTasks: { path: cluster, bodies: { one: { ids: ["4"] } } },
  reportTasks: {
    path: cluster,
    bodies: { one: { reports: [{ id: "4", state: "succeeded", stdout: "done\n" }] } },
  },
  rotateClusterCredentials: { path: cluster, bodies: { one: { token: true } } },
  setCredentials: { bodies: { one: { registerSecret: "a secret of your own" } } },
  satisfy: { bodies: { one: { request: REQUEST, selection: { strategy: "random" } } } },
  putGroup: { path: group, bodies: { one: { weight: 2, owner: "ada", runningTasksMax: 100 } } },
  removeGroup: { path: group },
  applyService: {
    path: service,
    bodies: {
      one: { template: { command: ["sleep", "600"], resources: { cpu: 0.1 } }, replicas: 2 },
      another: { template: { command: ["sleep", "900"], resources: { cpu: 0.1 } } },
    },
  },
  getService: { path: service },
  scaleService: { path: service, bodies: { one: { replicas: 3 } } },
  rollbackService: { path: service, bodies: { one: {} } },
  listInstances: { path: service },
  addInstances: { path: service, bodies: { one: { names: ["web-blue"] } } },
  getInstance: { path: instance },
  removeInstance: { path: instance, query: { reason: "it is not needed" } },
  removeService: { path: service },
};

/** Follow-up requests: an operation, and its parameters from the answer. */
export const LINKS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  submitJobs: {
    id: [
      "getJob",
      "cancelJob",
      "holdJob",
      "releaseJob",
      "updateJob",
      "rerunJob",
      "explainJob",
      "listTasks",
      "getTask",
      "readOutput",
    ],
  },
  registerCluster: {
    name: [
      "getCluster",
      "getClusterGraph",
      "setClusterState",
      "setClusterCounters",
      "listOfferedTasks",
      "rotateClusterCredentials",
      "deleteCluster",
    ],
  },
  putGroup: { name: ["removeGroup"] },
  applyService: {
    name: [
      "getService",
      "scaleService",
      "rollbackService",
      "listInstances",
      "addInstances",
      "removeService",
    ],
  },
};
