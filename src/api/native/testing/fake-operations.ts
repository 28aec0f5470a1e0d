import type { Jobspec } from "../../../core/jobspec/model.ts";
import { parseJobspec } from "../../../core/jobspec/read/parse.ts";
import type { JgfDocument } from "../../../core/graph/jgf.ts";
import { nameOf, type Principal } from "../../../core/access/principal.ts";
import { toJobSpec } from "../../../core/model/job/job-spec.ts";
import { revision as toRevision } from "../../../core/model/ids.ts";
import { AppError, insideField } from "../../../lib/errors.ts";
import { Histogram } from "../../../lib/histogram.ts";
import type { Operations, OperationsAccess } from "../../../server/operations/operations.ts";
import type { ClusterView, GroupView, JobView, NodeView } from "../../../server/views/views.ts";
import { aService, fakeServices } from "./fake-services.ts";
import { fakeWatch } from "./fake-watch.ts";
import { aCluster, aGroup, aJob, aNode, aSatisfied, aTask, someStats } from "./view-builders.ts";

export interface Asked {
  readonly name: keyof Operations;
  readonly args: readonly unknown[];
}

/** Small operations in memory: records requests, and answers plausibly. */
export interface FakeOperations extends Operations, OperationsAccess {
  /** The name of the principal. */
  readonly principals: string[];
  readonly asked: Asked[];
  /** The last request. */
  last(): Asked | undefined;
}

const shown = (jobspec: string | Jobspec): string =>
  typeof jobspec === "string" ? jobspec : "read already";

export function createFakeOperations(overrides: Partial<Operations> = {}): FakeOperations {
  const asked: Asked[] = [];
  const note = <Name extends keyof Operations>(name: Name, work: Operations[Name]) =>
    ((...args: unknown[]) => {
      asked.push({ name, args });
      return (work as (...args: unknown[]) => unknown)(...args);
    }) as Operations[Name];
  const principals: string[] = [];
  const all = { ...basics(() => principals.at(-1) ?? ""), ...overrides };
  const noted = Object.fromEntries(
    (Object.keys(all) as (keyof Operations)[]).map((name) => [name, note(name, all[name])]),
  ) as unknown as Operations;
  const operations = { ...noted, isReady: all.isReady };
  const as = (principal: Principal): Operations => {
    principals.push(nameOf(principal));
    return operations;
  };
  return { ...operations, as, principals, asked, last: () => asked.at(-1) };
}

const missing = (what: string, id: string): AppError =>
  new AppError("not_found", `there is no ${what} ${id}`, { field: what });

function basics(by: () => string): Operations {
  const jobs = new Map<string, JobView>();
  const byKey = new Map<string, string>();
  const groups = new Map<string, GroupView>([["default", aGroup()]]);
  const nodes = new Map<string, NodeView>([["n1", aNode()]]);
  const clusters = new Map<string, ClusterView>([["local", aCluster()]]);
  let revision = 0;
  const find = <Row>(rows: Map<string, Row>, what: string, id: string): Row => {
    const row = rows.get(id);
    if (row === undefined) throw missing(what, id);
    return row;
  };
  return {
    async submitJobs(submissions) {
      revision += 1;
      const answers = [...submissions].map(({ spec, idempotencyKey }, at) => {
        const job = fromInput(spec, at);
        const known = idempotencyKey === undefined ? undefined : byKey.get(idempotencyKey);
        if (known !== undefined) return { id: known, existed: true };
        const id = String(jobs.size + 1);
        const key = idempotencyKey === undefined ? {} : { idempotencyKey };
        if (idempotencyKey !== undefined) byKey.set(idempotencyKey, id);
        jobs.set(id, { ...job, id, ...key, submittedBy: by(), revision });
        return { id, existed: false, warning: "no node could run it" };
      });
      return { jobs: answers, revision };
    },
    submitJobspec: async ({ jobspec, common, allowUnsatisfiable = false }) => ({
      jobs: [
        { id: "7", existed: false, name: `${common?.group ?? "default"} ${shown(jobspec)}` },
        ...(allowUnsatisfiable ? [{ id: "8", existed: true, name: "more" }] : []),
      ],
      revision,
    }),
    tryJobs: async (ask) => ({
      jobs: [
        {
          name:
            ask.kind === "jobs" ? ([...ask.jobs][0]?.spec.name ?? "") : shown(ask.jobspec.jobspec),
          tasks: 3,
          placements: [
            { index: 0, cluster: "local", node: "n1" },
            { index: 1, cluster: "blue" },
          ],
          waiting: 1,
          untried: 0,
          possible: true,
          reasons: [],
          clusters: [],
          hints: [],
        },
      ],
      revision,
    }),
    getJob: async (id) => find(jobs, "job", id),
    listJobs: async ({ states }) => ({
      jobs: [...jobs.values()].filter(({ state }) => states?.includes(state) ?? true).reverse(),
      nextPageToken: "more",
      revision,
    }),
    listJobBriefs: async () => ({ jobs: [] }),
    countJobs: async () => ({ jobs: someStats().jobs, tasks: someStats().tasks, revision }),
    listTasks: async (jobId) => ({
      tasks: [aTask({ id: find(jobs, "job", jobId).id, jobId })],
      revision,
    }),
    listNewestTasks: async () => ({ tasks: [], openTotal: 0 }),
    getTask: async (id) => aTask({ id: find(jobs, "job", id).id }),
    async cancelJob(id, reason) {
      const job: JobView = { ...find(jobs, "job", id), state: "cancelled", reason };
      jobs.set(id, job);
      return job;
    },
    holdJob: async (id, reason) => ({ ...find(jobs, "job", id), heldBy: by(), reason }),
    releaseJob: async (id) => find(jobs, "job", id),
    requeueJob: async (id, reason) => ({ ...find(jobs, "job", id), reason }),
    updateJob: async (id, { priority = 0 }) => {
      const job = find(jobs, "job", id);
      return { ...job, spec: { ...job.spec, priority }, changedBy: by() };
    },
    rerunJob: async (id, { failedOnly }) => ({
      jobs: [{ id: `${find(jobs, "job", id).id}9`, existed: failedOnly === true }],
      revision,
    }),
    reportProgress: async (id, { percent, message }) => {
      const progress = { percent, ...(message === undefined ? {} : { message }) };
      const job = find(jobs, "job", id);
      return aTask({ id: job.id, jobId: job.id, progress });
    },
    explainJob: async (jobId) => ({
      jobId: find(jobs, "job", jobId).id,
      state: "pending",
      summary: "it waits for cpu",
      reasons: [{ reason: "busy: cpu", nodes: 1, never: false, examples: ["n1"] }],
      hints: ["add a node"],
      dependencies: [],
      clusters: [{ cluster: "blue", kind: "pulling", verdict: "never", reasons: ["no gpu"] }],
      cheapestChange: "undrain node n1",
      ahead: 3,
      nodes: 1,
    }),
    attach: async ({ taskId }) => {
      throw new AppError("conflict", `task ${find(jobs, "job", taskId).id} takes no client`);
    },
    async *readOutputStart({ taskId }) {
      yield { data: Buffer.from(find(jobs, "job", taskId).id), truncated: false };
    },
    async *readOutput({ taskId, stream, offset = 0 }) {
      const bytes = new TextEncoder().encode(`${stream} of ${find(jobs, "job", taskId).id}\n`);
      yield { data: bytes.subarray(offset), truncated: false };
    },
    async *backup() {
      yield { data: new TextEncoder().encode("a copy of all data") };
    },
    watch: fakeWatch(async function* ({ afterRevision = revision }) {
      yield { kind: "sync", revision: afterRevision };
      yield { kind: "job", revision: afterRevision + 1, job: aJob() };
      yield { kind: "task", revision: afterRevision + 2, task: aTask() };
      yield { kind: "node", revision: afterRevision + 3, node: aNode() };
      yield { kind: "cluster", revision: afterRevision + 4, cluster: aCluster() };
      yield { kind: "group", revision: afterRevision + 5, group: aGroup() };
      yield { kind: "service", revision: afterRevision + 6, service: aService() };
      yield { kind: "removed", revision: afterRevision + 7, what: "job", id: "1" };
    }),
    listNodes: async () => ({ nodes: [...nodes.values()], revision }),
    getNode: async (name) => find(nodes, "node", name),
    drainNode: async (name, drainReason) => ({
      ...find(nodes, "node", name),
      state: "draining",
      drainReason,
    }),
    undrainNode: async (name) => find(nodes, "node", name),
    setNode: async (name, { lostAfterMs }) => ({
      ...find(nodes, "node", name),
      onLost: "keep",
      ...(lostAfterMs === undefined ? {} : { lostAfterMs }),
    }),
    async removeNode(name) {
      find(nodes, "node", name);
      nodes.delete(name);
      return { revision };
    },
    listClusters: async () => ({ clusters: [...clusters.values()], revision }),
    getCluster: async (name) => find(clusters, "cluster", name),
    async readJobspecBody(body) {
      const text = new TextDecoder().decode(body);
      const { jobspec, ...fields } = JSON.parse(text) as { readonly jobspec: string };
      return { fields, jobspec: parseJobspec(jobspec) };
    },
    readSubsystem: async (body) => JSON.parse(new TextDecoder().decode(body)) as object,
    roomFor: async () => undefined,
    readJobspec: async (text) => parseJobspec(text),
    readRegistration: async (body) =>
      JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>,
    async registerCluster({ name, withCredentials }) {
      const cluster = aCluster({ name, kind: "pulling", vertices: { node: 2 } });
      clusters.set(name, cluster);
      return withCredentials === true ? { cluster, credentials: ISSUED } : { cluster };
    },
    async deleteCluster(name) {
      find(clusters, "cluster", name);
      clusters.delete(name);
      return { revision };
    },
    getClusterGraph: async (name) => JSON.stringify(aGraph(find(clusters, "cluster", name).name)),
    addSubsystem: async ({ cluster, name }) => ({
      ...find(clusters, "cluster", cluster),
      subsystems: [{ name, vertices: 1, links: 1 }],
    }),
    async removeSubsystem({ cluster }) {
      find(clusters, "cluster", cluster);
      return { revision };
    },
    getSubsystem: async ({ cluster, name }) => {
      find(clusters, "cluster", cluster);
      return JSON.stringify(aGraph(name));
    },
    setClusterState: async ({ cluster }) => ({
      ...find(clusters, "cluster", cluster),
      state: [{ key: "nodes_free", value: 20, setAtMs: 5 }],
      counters: [{ key: "nodes_free", by: "nodes" }],
    }),
    async listOffered(cluster, max = 1) {
      find(clusters, "cluster", cluster);
      const { spec } = aJob();
      const named = { name: spec.name, jobspec: undefined };
      const tasks = [{ id: "17", attempt: 1, ...named, spec, offeredAtMs: 5 }].slice(0, max);
      return { tasks, total: 1, revision };
    },
    acceptTasks: async (_, ids) => ({
      accepted: ids.slice(0, 1),
      refused: ids.slice(1).map((id) => ({ id, reason: "it is accepted already" })),
      revision,
    }),
    reportTasks: async (_, reports) => ({
      unwanted: reports.filter(({ state }) => state === "running").map(({ id }) => id),
      revision,
    }),
    getServerCredentials: async () => ({}),
    async rotateCredentials(cluster, which) {
      find(clusters, "cluster", cluster);
      const { secret, token } = ISSUED;
      const credentials = { ...(which.secret && { secret }), ...(which.token && { token }) };
      return { credentials, revision };
    },
    setCredentials: async () => ({ revision }),
    satisfy: async () => aSatisfied({ revision }),
    submitToChosen: async () => ({ kind: "submitted", id: "1", cluster: "blue" }),
    listGroups: async () => ({ groups: [...groups.values()], revision }),
    async putGroup({ name, ...fields }) {
      const given = Object.entries(fields).filter(([, value]) => value !== undefined);
      const group = aGroup({ ...groups.get(name), name, ...Object.fromEntries(given) });
      groups.set(name, group);
      return group;
    },
    async removeGroup(name) {
      find(groups, "group", name);
      groups.delete(name);
      return { revision };
    },
    ...fakeServices(),
    stats: async () => someStats({ revision }),
    times: async () => ({ commits: new Histogram([1, 10]), tasks: [] }),
    listNotes: async () => ({ notes: [], revision }),
    putNotes: async () => ({ revision }),
    listDoorRecords: async () => [],
    putDoorRecords: async () => undefined,
    assignShare: async ({ jobId, wattSeconds }) => ({ taskId: `${jobId}.0`, wattSeconds }),
    follow: () => ({
      revision: toRevision(revision),
      caughtUp: () => Promise.resolve(),
      close: () => undefined,
    }),
    isReady: () => true,
  };
}

const ISSUED = { secret: "fresh-secret", token: "fresh-token" };

const aGraph = (id: string): JgfDocument => ({
  graph: {
    directed: true,
    nodes: { [id]: { label: id, metadata: { type: "cluster" } } },
    edges: [],
  },
});

/** Checks a spec as the real operations do, so that errors name the same fields. */
function fromInput(input: Parameters<typeof toJobSpec>[0], at: number): JobView {
  try {
    const spec = toJobSpec(input);
    return aJob({
      state: "pending",
      spec: { ...aJob().spec, name: spec.name, group: spec.group, priority: spec.priority },
    });
  } catch (error) {
    throw insideField(error, `jobs[${at}]`);
  }
}
