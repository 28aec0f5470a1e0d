import { Type } from "typebox";
import type { StateValues } from "../../../../core/graph/cluster-state.ts";
import type { ResourceChoice } from "../../../../core/graph/request/request.ts";
import type { Software } from "../../../../core/model/node/node-facts.ts";
import { jobStateNames, nodeStateNames, taskStateNames } from "../../state-names.ts";
import {
  amounts,
  flag,
  list,
  named,
  number,
  object,
  oneOf,
  optional,
  text,
  texts,
  timeMs,
  whole,
} from "./schema.ts";

// What answers look like. The views are sent as they are; that a view fits its schema is checked
// by the compiler in every route, that nothing is left out by a test.

const counts = <Word extends string>(words: readonly Word[], description: string) =>
  Type.Unsafe<Readonly<Record<Word, number>>>(
    Type.Object(Object.fromEntries(words.map((word) => [word, Type.Integer()])), {
      additionalProperties: false,
      description,
    }),
  );
const taskCounts = () => counts(taskStateNames, "How many tasks are in each state");
const revision = () => whole("Number of the latest change when this was answered");
const nextPageToken = () => text("Ask for the next page with it; absent: this was the last");

const anyObject = <T = Readonly<Record<string, unknown>>>(description: string) =>
  Type.Unsafe<T>({ type: "object", description });

export const JobSpec = object(
  {
    name: text("Name"),
    group: text("Group it is queued in"),
    labels: optional(texts("Labels")),
    command: optional(list(Type.String(), { description: "Program and arguments" })),
    script: optional(text("Script, when there is no command")),
    jobspec: optional(text("A whole jobspec, when there is neither")),
    env: optional(texts("Environment variables")),
    cwd: optional(text("Working directory; absent: a fresh one for each attempt")),
    resources: amounts("What each task needs: cpu in cpus, memory in bytes"),
    placement: optional(
      object({
        kind: optional(oneOf(["managed", "pulling"], "Only on clusters of this kind")),
        cluster: optional(text("Only on this cluster")),
        node: optional(text("Only on this node")),
        labels: optional(texts("Only on nodes with all these labels")),
      }),
    ),
    array: optional(text("Indexes of its tasks, like 0-99")),
    priority: whole("Higher goes first"),
    retries: optional(
      object({
        max: whole("How often a failed task is tried again"),
        backoffMs: whole("Before the first retry; doubles each time"),
        backoffMaxMs: whole("At most this long between two attempts"),
      }),
    ),
    timeLimitMs: optional(whole("How long a task may run")),
    killGraceMs: whole("From TERM to KILL when a task is stopped"),
    queueDeadlineMs: optional(whole("Tasks not started this long after submission expire")),
    outputLimitBytes: whole("How much is kept of each stream of an attempt"),
    dependsOn: optional(
      list(
        object({
          kind: oneOf(
            ["afterok", "afterany", "afternotok", "after", "singleton"],
            "What the others must have done",
          ),
          on: optional(list(Type.String(), { description: "Jobs, as they were named" })),
          atLeast: optional(whole("How many of them; absent: all")),
          name: optional(text("Of a singleton")),
        }),
      ),
    ),
    request: optional(
      Type.Unsafe<ResourceChoice>({
        type: "array",
        description: "What each task asks of a graph: alternatives, each a list of trees",
      }),
    ),
    select: optional(
      object({
        strategy: optional(text("How a cluster is chosen; absent: as the server does it")),
        options: optional(anyObject("Of the strategy")),
        parameters: anyObject<StateValues>("What the job itself adds to what expressions know"),
      }),
    ),
  },
  { $id: "JobSpec" },
);

const usage = (whose: string) =>
  object(
    {
      cpuMs: optional(number("User and system time, descendants that were waited for included")),
      wallMs: optional(number("From start to end, by a clock that nobody sets")),
      maxRssBytes: optional(
        whole("Resident memory of the largest process; the most of several attempts"),
      ),
      majorFaults: optional(whole("Page faults that had to read from a disk")),
    },
    { description: `${whose}; a number that is not known is absent` },
  );

export const Job = object(
  {
    id: text("Id, like 17"),
    spec: named(JobSpec),
    state: oneOf(jobStateNames, "State of the job"),
    tasks: taskCounts(),
    taskTotal: whole("How many tasks it has"),
    submittedAtMs: timeMs("When it was submitted"),
    submittedBy: text("Who submitted it"),
    cancelledBy: optional(text("Who cancelled the whole of it")),
    startedAtMs: optional(timeMs("When its first task started")),
    endedAtMs: optional(timeMs("When its last task ended")),
    idempotencyKey: optional(text("Key it was submitted with")),
    reason: optional(
      text("Why it was cancelled, expired, skipped or failed, or why it is pending"),
    ),
    exitCode: optional(
      whole("Once ended: 0 when all tasks succeeded; absent where no process has left one"),
    ),
    usage: optional(usage("What all attempts at its tasks used that have ended")),
    revision: revision(),
  },
  { $id: "Job" },
);

const past = object({
  attempt: whole("Number of the attempt, from 1"),
  node: optional(text("Where it ran")),
  cluster: optional(text("That it was handed over to")),
  startedAtMs: optional(timeMs("When it started")),
  endedAtMs: timeMs("When it ended"),
  exitCode: optional(whole("Exit code")),
  signal: optional(text("Signal that ended it")),
  reason: text("Why it did not succeed"),
  usage: optional(usage("What it used")),
});

export const Task = object(
  {
    id: text("Id: 17, or 17.3 in an array"),
    jobId: text("Job it belongs to"),
    index: whole("Index in the array; 0 without one"),
    state: oneOf(taskStateNames, "State of the task"),
    attempt: whole("How often it was placed"),
    node: optional(text("Where it is or was")),
    cluster: optional(text("Cluster of that node")),
    assignedAtMs: optional(timeMs("When it was sent to the node")),
    startedAtMs: optional(timeMs("When it started")),
    endedAtMs: optional(timeMs("When it ended")),
    exitCode: optional(whole("Exit code")),
    signal: optional(text("Signal that ended it")),
    reason: optional(text("Why it is in this state")),
    notBeforeMs: optional(timeMs("Waiting: not placed before this")),
    past: optional(list(past, { description: "The latest attempts that did not succeed" })),
    usage: optional(usage("What the latest attempt used, once it has ended")),
  },
  { $id: "Task" },
);

const software = Type.Unsafe<Software>(
  Type.Object(
    {},
    {
      additionalProperties: Type.Array(
        Type.Object(
          {},
          {
            additionalProperties: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
          },
        ),
      ),
      description: "What was found, by subsystem: os, kernel, arch, cpu, gpu, mpi, compiler, spack",
    },
  ),
);

const nodeFacts = object({
  cores: whole("Whole cpus that are offered"),
  sockets: whole("Sockets; 0: not known"),
  numa: whole("Memory domains; 0: not known"),
  memoryBytes: whole("Memory that is offered"),
  gpus: whole("Gpus that are offered"),
  others: amounts("Any other resource that is offered"),
  software,
});

export const Node = object(
  {
    name: text("Name, unique over all clusters"),
    cluster: text("Cluster it belongs to"),
    state: oneOf(nodeStateNames, "State of the node"),
    capacity: amounts("What it has"),
    used: amounts("What its tasks use"),
    labels: texts("Labels"),
    tasks: whole("Tasks assigned, running or stopping there"),
    held: optional(whole("Tasks fetched ahead, which use nothing yet")),
    heldMax: optional(whole("How many tasks it may hold, for how short its last tasks were")),
    taskMsMean: optional(number("How long about the last 32 tasks took there")),
    connectedAtMs: optional(timeMs("Connected since")),
    disconnectedAtMs: optional(timeMs("Disconnected since")),
    drainReason: optional(text("Why it is drained")),
    drainedBy: optional(text("Who drained it")),
    changedBy: optional(text("Who last drained, undrained or set it")),
    sickness: optional(text("Why its agent cannot start processes")),
    sickAtMs: optional(timeMs("Unhealthy since")),
    quarantine: optional(text("Why it gets one task at a time, or none")),
    quarantinedAtMs: optional(timeMs("Quarantined since")),
    probeAtMs: optional(timeMs("When a quarantined node gets a task again")),
    onLost: optional(
      oneOf(
        ["keep", "fail"],
        "What becomes of its tasks when it is lost; absent: they are placed again",
      ),
    ),
    lostAfterMs: optional(
      whole(
        "How long it may be away before it is lost, in milliseconds; absent: as the server says",
      ),
    ),
    clockOffsetMs: optional(
      whole(
        "Milliseconds its clock is ahead of the server's, below 0: behind; absent: less than 2 s",
      ),
    ),
    agentVersion: text("Version of its agent"),
    address: optional(text("Where its agent is, or was last, without the port")),
    isClusterAgent: optional(
      Type.Literal(true, { description: "It speaks for all of its cluster, which pulls" }),
    ),
    facts: optional(nodeFacts),
    revision: revision(),
  },
  { $id: "Node" },
);

const groupFields = {
  name: text("Name"),
  weight: number("Share of the resources, in proportion to other groups"),
  owner: text("Who it belongs to"),
  runningTasksMax: optional(whole("Tasks assigned, running or stopping at once; absent: no limit")),
  queuedTasksMax: optional(whole("Tasks pending or waiting; absent: no limit")),
  changedBy: optional(text("Who last changed it")),
};
export const Group = object(
  {
    ...groupFields,
    tasks: taskCounts(),
    used: amounts("What its tasks use"),
    usage: optional(usage("What attempts at tasks of its jobs used")),
  },
  { $id: "Group" },
);

const NodeReason = object({
  reason: text("Why nodes were refused"),
  nodes: whole("How many of them"),
  never: flag("Waiting will not change it"),
  examples: list(Type.String(), { description: "Some of the nodes" }),
});

const ClusterReason = object({
  cluster: text("Name"),
  kind: oneOf(["managed", "pulling"], "managed: its nodes have agents; pulling: registered"),
  verdict: oneOf(["now", "later", "never"], "When it could take a task"),
  reasons: list(Type.String(), { description: "Why not now" }),
});

export const Explanation = object(
  {
    jobId: text("Job it is about"),
    state: oneOf(jobStateNames, "State of the job"),
    summary: text("One sentence"),
    reasons: list(NodeReason),
    clusters: list(ClusterReason),
    hints: list(Type.String(), { description: "What would help" }),
    cheapestChange: optional(
      text("The cheapest single change that would let a task start now; absent: none is known"),
    ),
    ahead: whole("Pending tasks of the same group that go before it"),
    nodes: whole("How many nodes there are"),
    dependencies: list(
      object({
        jobId: text("Job or task it waits for"),
        name: text("Name of that job"),
        state: text("Its state"),
        wants: text("What it must do, like: to succeed"),
        met: flag("It has done so"),
        impossible: flag("It never will"),
      }),
      { description: "What it waits for: not met first, some of many" },
    ),
  },
  { $id: "Explanation" },
);

export const Stats = object(
  {
    version: text("Version of the server"),
    store: text("Which store it uses"),
    revision: revision(),
    uptimeMs: number("How long it has been up"),
    jobs: counts(jobStateNames, "How many jobs are in each state"),
    tasks: taskCounts(),
    nodes: counts(nodeStateNames, "How many nodes are in each state"),
    capacity: amounts("What the connected nodes have"),
    used: amounts("What tasks use"),
    watches: whole("Open watches"),
    agentSessions: whole("Connected agents"),
    memoryBytes: whole("Memory of the server"),
    commits: whole("Commits to the store since the start"),
    commitMsMean: number("Mean time of a commit"),
    commitMsMax: number("Longest time of a commit"),
    commitMsP99: number("Within how long 99 of 100 commits were done, about"),
    placements: whole("Placements since the start"),
    tasksEnded: whole("Tasks ended since the start"),
    heldBegun: whole("Tasks fetched ahead that nodes have begun by themselves"),
    heldReturned: whole("Tasks fetched ahead that nodes gave back"),
    usage: usage("What attempts used that have ended since the start"),
  },
  { $id: "Stats" },
);

export const Submitted = object(
  {
    id: text("Id of the job"),
    existed: flag("It was there already, by its idempotency key"),
    warning: optional(text("What the submitter should know, like that no node could run it")),
  },
  { $id: "Submitted" },
);

export const SubmittedJobspec = object({
  jobs: list(object({ ...Submitted.properties, name: text("The task's path in the jobspec") })),
  revision: revision(),
});

export const TriedJob = object(
  {
    name: text("Name"),
    tasks: whole("How many tasks it has"),
    placements: list(
      object({
        index: whole("Index of the task"),
        cluster: text("Where it would go"),
        node: optional(text("Absent: the cluster's own scheduler chooses it")),
      }),
    ),
    waiting: whole("Tasks that would wait"),
    untried: whole("Tasks beyond the number that is tried at once"),
    isPossible: flag("False: nothing there is could ever run it, and it would be refused"),
    reason: optional(text("Why it waits, where it is not for room")),
    reasons: list(NodeReason),
    clusters: list(ClusterReason),
    hints: list(Type.String(), { description: "What would help" }),
    cheapestChange: optional(text("The cheapest single change that would let a task start")),
  },
  { $id: "TriedJob" },
);

export const Tried = object({ jobs: list(named(TriedJob)), revision: revision() });

export const Counts = object({
  jobs: counts(jobStateNames, "How many jobs are in each state"),
  tasks: taskCounts(),
  revision: revision(),
});

export const JobPage = object({
  jobs: list(named(Job)),
  nextPageToken: optional(nextPageToken()),
  revision: revision(),
});
export const TaskPage = object({
  tasks: list(named(Task)),
  nextPageToken: optional(nextPageToken()),
  revision: revision(),
});
export const NodePage = object({
  nodes: list(named(Node)),
  nextPageToken: optional(nextPageToken()),
  revision: revision(),
});
export const Groups = object({ groups: list(named(Group)), revision: revision() });
export const Removed = object({ revision: revision() });
