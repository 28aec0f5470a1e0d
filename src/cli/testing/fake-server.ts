import type { Job, Node, Task } from "../../client/messages.ts";
import { isEnded, type StateName, stateOf } from "../../client/state.ts";
import { type Handlers, Refusal, serve } from "../../client/testing/serve.ts";
import { fakeClusters } from "./fake-clusters.ts";
import { fakeServices } from "./fake-services.ts";
import { fakeSubmissions } from "./fake-submissions.ts";

type Init<Message> = Partial<Omit<Message, "$typeName" | "$unknown">>;
type Event = { readonly case: "job"; readonly value: FakeJob } | { case: "task"; value: FakeTask };
type FakeJob = Init<
  Pick<Job, "id" | "state" | "exitCode" | "reason" | "taskTotal" | "submittedAtMs">
> & {
  id: string;
  state: Job["state"];
  spec: { name: string; group: string; command: string[]; array: string };
  tasks: object;
};
type FakeTask = Init<Omit<Task, "past">> & { id: string; jobId: string; state: Task["state"] };

/** The number of jobs before the first submission: more than one page. */
const JOBS_BEFORE = 120;

/**
 * A server with just enough behaviour to try the command line on real processes. The first word of a job's command says what it does:
 * "print TEXT", "fail CODE", "hang" (runs until cancelled), "stay" (pending until cancelled), "late TEXT" (prints and ends as soon as a
 * request about it was answered). `watches` false: every watch is rejected.
 */
export async function startFakeServer({ watches = true }: { readonly watches?: boolean } = {}) {
  const world = createWorld();
  const { handlers, asked } = fakeClusters();
  const submissions = fakeSubmissions({
    submit: (command, array) => submit(world, command, array),
    revision: () => BigInt(world.history.length),
  });
  const refused: Handlers = {
    async *watch() {
      yield* [];
      throw new Refusal("RESOURCE_EXHAUSTED", "at most 0 watches at once");
    },
  };
  const conditions: string[] = [];
  const server = await serve(
    noting(conditions, {
      ...handlersOf(world),
      ...handlers,
      ...submissions.handlers,
      ...(watches ? {} : refused),
    }),
  );
  const { submitted, tried } = submissions;
  const { cancelled, groups, lists } = world;
  return { ...server, cancelled, groups, lists, asked, submitted, tried, conditions };
}

/** Records the changes and the revisions that they require. */
function noting(conditions: string[], handlers: Handlers): Handlers {
  const noted = Object.entries(handlers).map(([method, handle]) => {
    const call = handle as (request: object, ...more: unknown[]) => unknown;
    const note = (request: { readonly ifRevision?: bigint }, ...more: unknown[]): unknown => {
      if (request.ifRevision !== undefined) conditions.push(`${method} ${request.ifRevision}`);
      return call(request, ...more);
    };
    return [method, note];
  });
  return Object.fromEntries(noted) as Handlers;
}

type World = ReturnType<typeof createWorld>;

function createWorld() {
  const jobs = new Map<string, FakeJob>();
  const tasks = new Map<string, FakeTask>();
  const history: { readonly revision: bigint; readonly event: Event }[] = [];
  const cancelled: string[] = [];
  const groups = [{ name: "default", weight: 1 }];
  const lists = { count: 0, watches: 0 };
  const late = new Map<string, () => void>();
  let changed = Promise.withResolvers<void>();
  for (let at = 1; at <= JOBS_BEFORE; at += 1) {
    jobs.set(`${at}`, {
      id: `${at}`,
      spec: { name: `old-${at}`, group: "default", command: ["true"], array: "" },
      state: stateOf(at === 7 ? "failed" : "succeeded"),
      exitCode: at === 7 ? 4 : 0,
      tasks: {},
      taskTotal: 1n,
      submittedAtMs: BigInt(at * 1_000),
    });
  }
  const record = (event: Event): void => {
    history.push({ revision: BigInt(history.length + 1), event });
    changed.resolve();
    changed = Promise.withResolvers();
  };
  // 0 is no revision to resume from.
  record({ case: "job", value: jobs.get("1") as FakeJob });
  return {
    jobs,
    tasks,
    history,
    cancelled,
    groups,
    lists,
    late,
    /** Returns the present answer; a "late" job continues after it. */
    answered<Answer>(id: string, answer: Answer): Answer {
      late.get(id)?.();
      late.delete(id);
      return answer;
    },
    changed: () => changed.promise,
    setTask(task: FakeTask): void {
      tasks.set(task.id, task);
      record({ case: "task", value: task });
    },
    setJob(job: FakeJob): void {
      jobs.set(job.id, job);
      record({ case: "job", value: job });
    },
  };
}

function getJob(world: World, id: string): FakeJob {
  const job = world.jobs.get(id.split(".")[0] ?? "");
  if (job === undefined) throw new Refusal("NOT_FOUND", `there is no job ${id}`, "id");
  return job;
}

function end(world: World, job: FakeJob, state: StateName, exitCode: number): void {
  for (const task of tasksOf(world, job.id)) {
    world.setTask({ ...task, state: stateOf(state), exitCode });
  }
  world.setJob({ ...job, state: stateOf(state), exitCode });
}

const tasksOf = (world: World, jobId: string): FakeTask[] =>
  [...world.tasks.values()].filter((task) => task.jobId === jobId);

function submit(world: World, command: string[], array: string): string {
  const id = `${world.jobs.size + 1}`;
  const [what = "", argument = "0"] = command;
  const spec = { name: what, group: "default", command, array };
  const indexes = array === "" ? [0] : [0, 1];
  const taskTotal = BigInt(indexes.length);
  const job: FakeJob = {
    id,
    spec,
    state: stateOf("pending"),
    tasks: {},
    taskTotal,
    submittedAtMs: 1n,
  };
  world.setJob(job);
  if (what === "stay") return id;
  const start = what === "late" ? (run: () => void) => world.late.set(id, run) : setImmediate;
  start(() => {
    for (const index of indexes) {
      const taskId = array === "" ? id : `${id}.${index}`;
      world.setTask({ id: taskId, jobId: id, index, attempt: 1, state: stateOf("running") });
    }
    world.setJob({ ...job, state: stateOf("running") });
    if (what === "print" || what === "late") end(world, job, "succeeded", 0);
    if (what === "fail") end(world, job, "failed", Number(argument));
  });
  return id;
}

function handlersOf(world: World): Handlers {
  return {
    getJob: ({ id }) => world.answered(id, getJob(world, id)),
    listJobs: ({ pageSize, pageToken }) => {
      const all = [...world.jobs.values()].reverse();
      const from = Number(pageToken || "0");
      const to = from + Math.min(pageSize ?? 40, 40);
      world.lists.count += 1;
      const nextPageToken = to < all.length ? `${to}` : undefined;
      const revision = BigInt(world.history.length);
      return { jobs: all.slice(from, to), nextPageToken, revision };
    },
    countJobs: () => ({
      jobs: { succeeded: 119n, failed: 1n },
      tasks: { succeeded: 119n, failed: 1n },
    }),
    listTasks: ({ jobId, states }) =>
      world.answered(jobId, {
        tasks: tasksOf(world, getJob(world, jobId).id).filter(
          ({ state }) => states.length === 0 || states.includes(state),
        ),
      }),
    getTask: ({ id }) => {
      const [jobId = "", index = "0"] = id.split(".");
      const tasks = tasksOf(world, getJob(world, jobId).id);
      const found = tasks.find((task) => task.index === Number(index));
      if (found === undefined) throw new Refusal("NOT_FOUND", `job ${jobId} has no task ${index}`);
      return found;
    },
    cancelJob: ({ id }) => {
      const job = getJob(world, id);
      world.cancelled.push(id);
      if (!isEnded(job.state)) setImmediate(() => end(world, job, "cancelled", 143));
      return job;
    },
    explainJob: ({ id }) => ({
      jobId: id,
      state: getJob(world, id).state,
      summary: "no node is connected",
      hints: ["start an agent"],
      cheapestChange: "wait for task 9",
      reasons: [{ reason: "busy: cpu", nodes: 3, never: false, examples: ["a", "b"] }],
      nodes: 3,
    }),
    readOutput: ({ taskId, stream, follow }, signal) =>
      output(world, { taskId, stream, follow }, signal),
    watch: ({ afterRevision, jobId, tasks }, signal) => {
      world.lists.watches += 1;
      return watch(world, { afterRevision, jobId, tasks }, signal);
    },
    listNodes: () => ({ nodes: [aNode("rack1-7")] }),
    getNode: ({ name }) => aNode(name),
    drainNode: ({ name, reason }) => ({
      ...aNode(name),
      state: "draining",
      drainReason: reason ?? "",
    }),
    setNode: ({ name, onLost, lostAfterMs }) => ({
      ...aNode(name),
      onLost,
      lostAfterMs: lostAfterMs ? BigInt(lostAfterMs) : undefined,
    }),
    getStats: () => ({ version: "0.0.0", store: "memory", jobs: { running: 1n }, tasks: {} }),
    ...fakeServices(),
    listGroups: () => ({ groups: world.groups.map((group) => ({ ...group, tasks: {} })) }),
  };
}

const aNode = (name: string): Init<Node> => ({
  name,
  cluster: "default",
  state: "connected",
  capacity: { cpu: 8, memory: 34_359_738_368 },
  used: { cpu: 1.5 },
  labels: { disk: "ssd" },
  tasks: 2,
});

async function* output(
  world: World,
  { taskId, stream, follow }: { taskId: string; stream: number; follow: boolean },
  signal: AbortSignal,
) {
  const [what, text = ""] = getJob(world, taskId).spec.command;
  const name = stream === 1 ? "out" : "err";
  if (what === "flood" && name === "out") {
    while (!signal.aborted) {
      yield { data: Buffer.alloc(65_536, "flood\n") };
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  if (what === "print" || what === "late") yield { data: Buffer.from(`${name}: ${text}\n`) };
  if (!follow) return;
  while (!isEnded(getJob(world, taskId).state) && !signal.aborted) await world.changed();
}

async function* watch(
  world: World,
  request: { afterRevision: bigint | undefined; jobId: string | undefined; tasks: boolean },
  signal: AbortSignal,
) {
  let at = Number(request.afterRevision ?? world.history.length);
  yield { revision: BigInt(at), event: { case: "sync", value: {} } as const };
  while (!signal.aborted) {
    const changed = world.changed();
    for (const { revision, event } of world.history.slice(at)) {
      const jobId = event.case === "job" ? event.value.id : event.value.jobId;
      const wanted = request.jobId === undefined || request.jobId === jobId;
      if (wanted && (event.case === "job" || request.tasks)) yield { revision, event };
    }
    at = world.history.length;
    await changed;
  }
}
