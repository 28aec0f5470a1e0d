import { type Static, Type } from "typebox";
import { limits } from "../../../../limits.ts";
import { jobStateNames, nodeStateNames, taskStateNames } from "../../state-names.ts";
import {
  flag,
  list,
  named,
  number,
  object,
  oneOf,
  optional,
  text,
  texts,
  whole,
} from "./schema.ts";

// What requests look like. Only shapes are checked here; whether a value makes sense is for
// Operations to say, so that every door says the same.

const resources = Type.Unsafe<Readonly<Record<string, number | string>>>(
  Type.Object(
    {
      memory: Type.Optional(
        // `type` with two words rather than a union: one message for both.
        Type.Unsafe<number | string>({
          type: ["number", "string"],
          description: "Bytes, or a text like 4GiB",
          examples: ["4GiB"],
        }),
      ),
    },
    {
      additionalProperties: Type.Number(),
      description: "What each task needs: cpu in cpus, memory in bytes; one cpu unless given",
    },
  ),
);

const placement = object({
  kind: optional(text("managed: only nodes with agents; pulling: only clusters that pull")),
  cluster: optional(text("Only on this cluster")),
  node: optional(text("Only on this node")),
  labels: optional(texts("Only on nodes with all these labels")),
});

const select = object({
  strategy: optional(text("How a cluster is chosen; absent: as the server does it")),
  options: optional(Type.Unsafe<unknown>({ type: "object", description: "Of the strategy" })),
  parameters: optional(
    Type.Unsafe<unknown>({
      type: "object",
      description: "Numbers, texts, true and false that expressions know by these names",
    }),
  ),
});

export const JobSubmission = object(
  {
    name: optional(text("Default: the program's name")),
    group: optional(text('Default: "default"')),
    labels: optional(texts("Labels to find it by")),
    command: optional(
      list(Type.String(), {
        description: "Program and arguments; either this or script",
        examples: [["sleep", "1"]],
      }),
    ),
    script: optional(text("Run by its #! line, or by /bin/sh")),
    jobspec: optional(text("A whole jobspec instead of a command, for one cluster that pulls")),
    env: optional(texts("Environment variables")),
    cwd: optional(text("Default: a fresh directory for each attempt")),
    resources: optional(resources),
    placement: optional(placement),
    array: optional(text("One task for each index", { examples: ["0-99", "1-9:2", "0-3,8"] })),
    priority: optional(whole("Higher goes first; default 0")),
    retries: optional(
      object({
        max: optional(whole("How often a failed task is tried again; default 0")),
        backoffMs: optional(whole("Before the first retry; doubles each time")),
        backoffMaxMs: optional(whole("At most this long between two attempts")),
      }),
    ),
    timeLimitMs: optional(whole("How long a task may run; absent: as long as it likes")),
    killGraceMs: optional(whole("From TERM to KILL when a task is stopped; default 5000")),
    queueDeadlineMs: optional(whole("Tasks not started this long after submission expire")),
    outputLimitBytes: optional(whole("How much is kept of each stream of an attempt")),
    dependsOn: optional(
      list(
        object({
          kind: optional(text("afterok (the default), afterany, afternotok, after, singleton")),
          on: optional(
            list(Type.String(), {
              description: "Ids, or names: of this submission, or else the newest job of that name",
              examples: [["build", "17", "sweep.3"]],
            }),
          ),
          atLeast: optional(whole("How many of them; absent: all")),
          name: optional(text("Singleton only: jobs that say it run one after the other")),
        }),
        { description: "Not placed before all of these are met" },
      ),
    ),
    request: optional(
      Type.Unsafe<unknown>({
        type: "array",
        description:
          "Instead of resources: what each task asks of the graph of a cluster or node, as a list " +
          'of alternatives, each a list of trees like {"type": "node", "with": [{"type": "core", ' +
          '"count": 2}]}',
      }),
    ),
    select: optional(select),
    idempotencyKey: optional(
      text("The same key with the same job answers with the job that exists"),
    ),
  },
  { $id: "JobSubmission" },
);

export const JobspecSubmission = object(
  {
    jobspec: text("A jobspec of any dialect, as text"),
    group: optional(text("Of all its jobs")),
    labels: optional(texts("Of all its jobs")),
    priority: optional(whole("Of all its jobs")),
    placement: optional(placement),
    select: optional(select),
    idempotencyKey: optional(text("Each job gets it with its own name behind it")),
  },
  { $id: "JobspecSubmission" },
);

/** Beside what is submitted. */
export const SubmitQuery = object({
  allowUnsatisfiable: optional(flag("Take work that nothing there is could ever run")),
});

export const ManySubmissions = object(
  {
    jobs: list(named(JobSubmission), {
      maxItems: limits.submitJobsMax,
      description: "All are taken or none",
    }),
  },
  { $id: "ManySubmissions" },
);

/**
 * One job, or many under `jobs`. Chosen by what is there rather than by what fits, so that a
 * mistake in one form is not reported as a mistake in the other.
 */
export const SubmitBody = Type.Unsafe<
  Static<typeof JobSubmission> | Static<typeof ManySubmissions>
>({
  if: { type: "object", required: ["jobs"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word, and not a function
  then: named(ManySubmissions),
  else: named(JobSubmission),
});

/** The same for the document, whose readers know `anyOf` better. */
export const SubmitBodyShown = Type.Union([named(JobSubmission), named(ManySubmissions)]);

const page = {
  pageSize: optional(whole(`Default ${limits.pageSizeDefault}, at most ${limits.pageSizeMax}`)),
  pageToken: optional(text("nextPageToken of the page before")),
};

export const JobQuery = object({
  state: optional(list(oneOf(jobStateNames, "State"), { description: "Any of these" })),
  group: optional(text("Of this group")),
  label: optional(list(Type.String(), { description: "name=value; all of these" })),
  cluster: optional(text("Has or had a task on this cluster")),
  node: optional(text("Has or had a task on this node")),
  name: optional(text("With this name")),
  submittedBy: optional(text("Submitted by this caller")),
  ...page,
});

export const TaskQuery = object({
  state: optional(list(oneOf(taskStateNames, "State"), { description: "Any of these" })),
  ...page,
});

export const NodeQuery = object({
  cluster: optional(text("Of this cluster")),
  state: optional(oneOf(nodeStateNames, "In this state")),
  ...page,
});

export const CountQuery = object({ group: optional(text("Of this group; absent: of all")) });

export const OutputQuery = object({
  stream: optional(oneOf(["stdout", "stderr"], "Default: stdout")),
  offset: optional(whole("Leave out this many bytes")),
  follow: optional(flag("Go on until the task ends")),
  attempt: optional(whole("Default: the latest")),
});

export const WatchQuery = object({
  after: optional(whole("Changes after this revision; absent: from now on")),
  job: optional(text("Only of this job")),
  group: optional(text("Only of jobs of this group")),
  kind: optional(
    list(oneOf(["job", "task", "node", "group"], "Kind"), { description: "Only of these kinds" }),
  ),
});

export const ReasonBody = object({ reason: optional(text("Why; kept beside the change")) });

export const NodeBody = object({
  onLost: optional(
    oneOf(
      ["requeue", "keep", "fail", "agent"],
      "What becomes of its tasks when it is lost; agent: as its agent asks; absent: as it was",
    ),
  ),
  lostAfterMs: optional(
    whole(
      "How long it may be away before it is lost, in milliseconds; 0: as its agent or the server " +
        "says; absent: as it was",
    ),
  ),
});

export const GroupBody = object({
  weight: optional(number("Share of the resources, in proportion to other groups; default 1")),
  owner: optional(text("Who it belongs to")),
  runningTasksMax: optional(whole("Tasks assigned, running or stopping at once; 0: no limit")),
  queuedTasksMax: optional(whole("Tasks pending or waiting; 0: no limit")),
});

export const IdPath = object({ id: text("Id of a job, like 17, or of a task, like 17.3") });
export const NamePath = object({ name: text("Name") });
