import type { Permission, Resource } from "../../core/access/authorise.ts";
import type { Operations, Submissions } from "./operations.ts";

/** Looks up the owners of resources. */
export interface Look {
  /** Undefined: there is no such job. */
  submitterOf(jobId: string): string | undefined;
}

/** The permission that an operation needs. */
export interface PermissionNeed<Name extends keyof Operations> {
  readonly permission: Permission;
  /** The resource that a request concerns, for principals that may act only on their own. */
  readonly about: (look: Look, ...args: Parameters<Operations[Name]>) => Resource;
}

const inCluster = (name: string): Resource => ({ kind: "clusters", names: [name] });

const inTheirClusters = (jobs: Submissions): Resource => ({
  kind: "clusters",
  names: [...jobs].map(({ spec }) => spec.placement?.cluster),
});

const job = (look: Look, id: string): Resource => ({
  kind: "job",
  submittedBy: look.submitterOf(id),
});

/** Total by type: an operation does not compile until it names the permission that it needs. */
export const NEEDS: { readonly [Name in keyof Operations]: Permission | PermissionNeed<Name> } = {
  submitJobs: { permission: "jobs.submit", about: (_, jobs) => inTheirClusters(jobs) },
  submitJobspec: "jobs.submit",
  tryJobs: "jobs.submit",
  getJob: { permission: "jobs.read", about: job },
  listJobs: "jobs.read",
  listJobBriefs: "jobs.read",
  countJobs: "jobs.read",
  listTasks: { permission: "jobs.read", about: job },
  listNewestTasks: "jobs.read",
  getTask: { permission: "jobs.read", about: job },
  cancelJob: { permission: "jobs.cancel", about: job },
  holdJob: { permission: "jobs.change", about: job },
  releaseJob: { permission: "jobs.change", about: job },
  requeueJob: { permission: "jobs.change", about: job },
  updateJob: { permission: "jobs.change", about: job },
  rerunJob: { permission: "jobs.change", about: job },
  reportProgress: { permission: "tasks.report", about: job },
  explainJob: { permission: "jobs.read", about: job },
  readOutput: { permission: "output.read", about: (look, { taskId }) => job(look, taskId) },
  readOutputStart: { permission: "output.read", about: (look, { taskId }) => job(look, taskId) },
  attach: { permission: "jobs.change", about: (look, { taskId }) => job(look, taskId) },
  watch: "watch",
  follow: "watch",
  backup: "backup",
  listNodes: "nodes.read",
  getNode: "nodes.read",
  drainNode: "nodes.manage",
  undrainNode: "nodes.manage",
  setNode: "nodes.manage",
  removeNode: "nodes.manage",
  listClusters: "clusters.read",
  getCluster: { permission: "clusters.read", about: (_, name) => inCluster(name) },
  getClusterGraph: { permission: "clusters.read", about: (_, name) => inCluster(name) },
  getSubsystem: { permission: "clusters.read", about: (_, { cluster }) => inCluster(cluster) },
  registerCluster: "clusters.register",
  deleteCluster: { permission: "clusters.delete", about: (_, name) => inCluster(name) },
  addSubsystem: { permission: "clusters.report", about: (_, { cluster }) => inCluster(cluster) },
  removeSubsystem: { permission: "clusters.report", about: (_, { cluster }) => inCluster(cluster) },
  setClusterState: { permission: "clusters.report", about: (_, { cluster }) => inCluster(cluster) },
  listOffered: { permission: "tasks.pull", about: (_, cluster) => inCluster(cluster) },
  acceptTasks: { permission: "tasks.pull", about: (_, cluster) => inCluster(cluster) },
  reportTasks: { permission: "tasks.pull", about: (_, cluster) => inCluster(cluster) },
  readRegistration: "documents.read",
  readSubsystem: "documents.read",
  readJobspecBody: "documents.read",
  readJobspec: "documents.read",
  roomFor: "documents.read",
  satisfy: "placement.read",
  submitToChosen: {
    permission: "jobs.submit",
    about: (_, { clusters }) => ({ kind: "clusters", names: clusters }),
  },
  getServerCredentials: "credentials.read",
  rotateCredentials: "credentials.manage",
  setCredentials: "credentials.manage",
  assignShare: { permission: "tasks.assign", about: (look, { jobId }) => job(look, jobId) },
  listNotes: "groups.read",
  putNotes: "groups.manage",
  listDoorRecords: "groups.read",
  putDoorRecords: "groups.manage",
  listGroups: "groups.read",
  putGroup: "groups.manage",
  removeGroup: "groups.manage",
  listServices: "services.read",
  getService: "services.read",
  applyService: "services.manage",
  scaleService: "services.manage",
  rollbackService: "services.manage",
  removeService: "services.manage",
  listInstances: "services.read",
  getInstance: "services.read",
  addInstances: "services.manage",
  removeInstances: "services.manage",
  stats: "stats.read",
  times: "stats.read",
  isReady: "health.read",
};
