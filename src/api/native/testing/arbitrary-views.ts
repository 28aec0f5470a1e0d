import * as fc from "fast-check";
import type { NodeFacts } from "../../../core/model/node-facts.ts";
import type {
  CountsView,
  ExplanationView,
  GroupView,
  JobSpecView,
  JobView,
  NodeReasonView,
  NodeView,
  PastAttemptView,
  StatsView,
  TaskView,
} from "../../../server/views.ts";
import { jobStateNames, nodeStateNames, taskStateNames } from "../state-names.ts";

/** An arbitrary for every field, optional ones too: a new field does not compile until it has one. */
type Model<View> = {
  readonly [Field in keyof Required<View>]: fc.Arbitrary<NonNullable<View[Field]>>;
};
type OptionalOf<View> = {
  [Field in keyof View]-?: undefined extends View[Field] ? Field : never;
}[keyof View];

const record = <View>(model: Model<View>, optional: readonly (OptionalOf<View> & string)[]) => {
  const fields = Object.keys(model) as (keyof Model<View>)[];
  const requiredKeys = fields.filter((field) => !optional.includes(field as never));
  return fc.record(model, { requiredKeys }) as unknown as fc.Arbitrary<View>;
};

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const name = fc.stringMatching(/^[a-z]{1,8}$/);
const texts = fc.dictionary(name, text, { maxKeys: 3 });
const amounts = fc.dictionary(name, fc.double({ noNaN: true, noDefaultInfinity: true }), {
  maxKeys: 3,
});
const wide = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const count = fc.nat({ max: 2 ** 31 - 1 });
const counts = <Word extends string>(words: readonly Word[]) =>
  fc.record(Object.fromEntries(words.map((word) => [word, wide]))) as fc.Arbitrary<
    Record<Word, number>
  >;
const jobState = fc.constantFrom(...jobStateNames);

type Placement = NonNullable<JobSpecView["placement"]>;
type Retries = NonNullable<JobSpecView["retries"]>;

export const specs = record<JobSpecView>(
  {
    name,
    group: name,
    labels: texts,
    command: fc.array(text, { maxLength: 3 }),
    script: text,
    env: texts,
    cwd: text,
    resources: amounts,
    placement: record<Placement>({ cluster: name, node: name, labels: texts }, [
      "cluster",
      "node",
      "labels",
    ]),
    array: text,
    priority: int32,
    retries: record<Retries>({ max: count, backoffMs: wide, backoffMaxMs: wide }, []),
    timeLimitMs: wide,
    killGraceMs: wide,
    queueDeadlineMs: wide,
    outputLimitBytes: wide,
  },
  [
    "labels",
    "command",
    "script",
    "env",
    "cwd",
    "placement",
    "array",
    "retries",
    "timeLimitMs",
    "queueDeadlineMs",
  ],
);

export const jobs = record<JobView>(
  {
    id: name,
    spec: specs,
    state: jobState,
    tasks: counts(taskStateNames),
    taskTotal: wide,
    submittedAtMs: wide,
    submittedBy: text,
    startedAtMs: wide,
    endedAtMs: wide,
    idempotencyKey: text,
    reason: text,
    exitCode: int32,
    revision: wide,
  },
  ["startedAtMs", "endedAtMs", "idempotencyKey", "reason", "exitCode"],
);

const pasts = record<PastAttemptView>(
  {
    attempt: count,
    node: name,
    startedAtMs: wide,
    endedAtMs: wide,
    exitCode: int32,
    signal: text,
    reason: text,
  },
  ["startedAtMs", "exitCode", "signal"],
);

export const tasks = record<TaskView>(
  {
    id: name,
    jobId: name,
    index: count,
    state: fc.constantFrom(...taskStateNames),
    attempt: count,
    node: name,
    cluster: name,
    assignedAtMs: wide,
    startedAtMs: wide,
    endedAtMs: wide,
    exitCode: int32,
    signal: text,
    reason: text,
    notBeforeMs: wide,
    past: fc.array(pasts, { maxLength: 3 }),
  },
  [
    "node",
    "cluster",
    "assignedAtMs",
    "startedAtMs",
    "endedAtMs",
    "exitCode",
    "signal",
    "reason",
    "notBeforeMs",
    "past",
  ],
);

const entries = fc.dictionary(name, fc.oneof(text, count, fc.boolean()), { maxKeys: 3 });

export const nodes = record<NodeView>(
  {
    name,
    cluster: name,
    state: fc.constantFrom(...nodeStateNames),
    capacity: amounts,
    used: amounts,
    labels: texts,
    tasks: count,
    connectedAtMs: wide,
    disconnectedAtMs: wide,
    drainReason: text,
    agentVersion: text,
    facts: record<NodeFacts>(
      {
        cores: count,
        sockets: count,
        numa: count,
        memoryBytes: wide,
        gpus: count,
        others: fc.dictionary(name, count, { maxKeys: 3 }),
        software: fc.dictionary(name, fc.array(entries, { maxLength: 3 }), { maxKeys: 3 }),
      },
      [],
    ),
    revision: wide,
  },
  ["connectedAtMs", "disconnectedAtMs", "drainReason", "facts"],
);

export const groups = record<GroupView>(
  {
    name,
    weight: fc.double({ noNaN: true }),
    owner: text,
    runningTasksMax: wide,
    queuedTasksMax: wide,
    tasks: counts(taskStateNames),
    used: amounts,
  },
  ["runningTasksMax", "queuedTasksMax"],
);

export const explanations = record<ExplanationView>(
  {
    jobId: name,
    state: jobState,
    summary: text,
    reasons: fc.array(
      record<NodeReasonView>(
        { reason: text, nodes: count, never: fc.boolean(), examples: fc.array(name) },
        [],
      ),
    ),
    hints: fc.array(text),
    ahead: wide,
    nodes: count,
  },
  [],
);

export const countings = record<CountsView>(
  { jobs: counts(jobStateNames), tasks: counts(taskStateNames), revision: wide },
  [],
);

export const stats = record<StatsView>(
  {
    version: text,
    store: text,
    revision: wide,
    uptimeMs: wide,
    jobs: counts(jobStateNames),
    tasks: counts(taskStateNames),
    nodes: counts(nodeStateNames),
    capacity: amounts,
    used: amounts,
    watches: wide,
    agentSessions: wide,
    memoryBytes: wide,
    commits: wide,
    commitMsMean: fc.double({ noNaN: true }),
    commitMsMax: fc.double({ noNaN: true }),
    placements: wide,
    tasksEnded: wide,
  },
  [],
);
