import * as fc from "fast-check";
import type { ResourceChoice } from "../../../core/graph/request/request.ts";
import { requireOne, want } from "../../../core/graph/testing/requests.ts";
import type { NodeFacts } from "../../../core/model/node/node-facts.ts";
import type {
  ClusterView,
  CredentialTimesView,
  CountsView,
  GroupView,
  JobSpecView,
  JobView,
  NodeView,
  PastAttemptView,
  ProgressView,
  StatsView,
  TaskView,
  UsageView,
} from "../../../server/views/views.ts";
import type { InstanceRefView } from "../../../server/services/service-views.ts";
import { jobStateNames, nodeStateNames, taskStateNames } from "../state-names.ts";
import {
  amounts,
  count,
  counts,
  int32,
  jobState,
  name,
  record,
  text,
  texts,
  wide,
} from "./arbitrary-values.ts";
import { energyTerms, jobEnergy, power, share } from "./arbitrary-energy.ts";

export const kind = fc.constantFrom("managed" as const, "pulling" as const);

type Placement = NonNullable<JobSpecView["placement"]>;
type Retries = NonNullable<JobSpecView["retries"]>;
type Service = NonNullable<JobSpecView["service"]>;
type Dependency = NonNullable<JobSpecView["dependsOn"]>[number];
type Select = NonNullable<JobSpecView["select"]>;

/** Not exhaustive, as others are: src/wire/json.test.ts converts messages with any fields both ways. */
const someOfSpec = record as (
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  optional: readonly string[],
) => fc.Arbitrary<JobSpecView>;

export const specs = someOfSpec(
  {
    name,
    group: name,
    labels: texts,
    command: fc.array(text, { minLength: 1, maxLength: 3 }),
    script: text,
    jobspec: text,
    env: texts,
    cwd: text,
    resources: amounts,
    placement: record<Placement>({ kind, cluster: name, node: name, labels: texts }, [
      "kind",
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
    dependsOn: fc.array(
      record<Dependency>(
        {
          kind: fc.constantFrom("afterok", "afterany", "afternotok", "after", "singleton"),
          on: fc.array(name, { minLength: 1, maxLength: 3 }),
          atLeast: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
          name,
        },
        ["on", "atLeast", "name"],
      ),
      { minLength: 1, maxLength: 2 },
    ),
    request: fc.constantFrom<ResourceChoice>(
      [[want(1, "node", [want(2, "core")])]],
      [[want(1, "gpu")], [want(4, "core", [], { requires: [requireOne("os", "name", "debian")] })]],
    ),
    energy: energyTerms,
    service: record<Service>(
      {
        restart: fc.constantFrom("always", "on-failure", "never"),
        backoffMs: wide,
        backoffMaxMs: wide,
        resetAfterMs: wide,
      },
      [],
    ),
    select: record<Select>(
      {
        strategy: fc.constant("constraint"),
        options: fc.constant({ priorities: [{ priority: 1, steps: [{ filter: "a > 1" }] }] }),
        parameters: fc.dictionary(name, fc.oneof(fc.integer(), name, fc.boolean()), { maxKeys: 2 }),
      },
      ["strategy", "options"],
    ),
  },
  [
    "labels",
    "command",
    "script",
    "jobspec",
    "env",
    "cwd",
    "placement",
    "array",
    "retries",
    "timeLimitMs",
    "queueDeadlineMs",
    "dependsOn",
    "request",
    "select",
    "energy",
    "service",
  ],
);

const nonNegative = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 });
const usage = record<UsageView>(
  { cpuMs: nonNegative, wallMs: nonNegative, maxRssBytes: wide, majorFaults: wide },
  ["cpuMs", "wallMs", "maxRssBytes", "majorFaults"],
);

const progress = record<ProgressView>({ percent: nonNegative, message: text, reportedAtMs: wide }, [
  "message",
  "reportedAtMs",
]);

export const jobs = record<JobView>(
  {
    id: name,
    spec: specs,
    state: jobState,
    tasks: counts(taskStateNames),
    taskTotal: wide,
    submittedAtMs: wide,
    submittedBy: text,
    cancelledBy: text,
    heldBy: text,
    heldTasks: wide,
    changedBy: text,
    startedAtMs: wide,
    endedAtMs: wide,
    idempotencyKey: text,
    reason: text,
    exitCode: int32,
    usage,
    progress,
    energy: jobEnergy,
    instance: record<InstanceRefView>({ service: name, name, generation: count }, []),
    restarts: count,
    revision: wide,
  },
  [
    "cancelledBy",
    "heldBy",
    "heldTasks",
    "changedBy",
    "startedAtMs",
    "endedAtMs",
    "idempotencyKey",
    "reason",
    "exitCode",
    "usage",
    "progress",
    "energy",
    "instance",
    "restarts",
  ],
);

const pasts = record<PastAttemptView>(
  {
    attempt: count,
    node: name,
    cluster: name,
    startedAtMs: wide,
    endedAtMs: wide,
    exitCode: int32,
    signal: text,
    reason: text,
    usage,
  },
  ["node", "cluster", "startedAtMs", "exitCode", "signal", "usage"],
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
    failure: fc.constantFrom("exited" as const, "time-limit" as const, "lost" as const),
    usage,
    progress,
    share,
    restarts: count,
    revision: wide,
  },
  [
    "restarts",
    "node",
    "cluster",
    "assignedAtMs",
    "startedAtMs",
    "endedAtMs",
    "exitCode",
    "signal",
    "reason",
    "notBeforeMs",
    "failure",
    "usage",
    "progress",
    "share",
  ],
);

const entries = fc.dictionary(name, fc.oneof(text, count, fc.boolean()), { maxKeys: 3 });

const some = fc.integer({ min: 1, max: 64 }); // none is omitted

export const nodes = record<NodeView>(
  {
    name,
    cluster: name,
    state: fc.constantFrom(...nodeStateNames),
    capacity: amounts,
    used: amounts,
    labels: texts,
    tasks: count,
    held: some,
    heldMax: some,
    taskMsMean: some,
    connectedAtMs: wide,
    disconnectedAtMs: wide,
    drainReason: text,
    drainedBy: text,
    changedBy: text,
    sickness: text,
    sickAtMs: wide,
    quarantine: text,
    quarantinedAtMs: wide,
    probeAtMs: wide,
    onLost: fc.constantFrom("keep" as const, "fail" as const),
    lostAfterMs: wide,
    clockOffsetMs: wide,
    agentVersion: text,
    address: text,
    isClusterAgent: fc.boolean(),
    power,
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
  [
    "heldMax",
    "taskMsMean",
    "connectedAtMs",
    "disconnectedAtMs",
    "drainReason",
    "drainedBy",
    "changedBy",
    "sickness",
    "sickAtMs",
    "quarantine",
    "quarantinedAtMs",
    "probeAtMs",
    "onLost",
    "lostAfterMs",
    "power",
    "clockOffsetMs",
    "address",
    "facts",
  ],
);

const stateValue = fc.oneof(fc.double({ noNaN: true }), text, fc.boolean());

export const clusters = record<ClusterView>(
  {
    name,
    kind,
    createdAtMs: wide,
    registeredBy: text,
    changedBy: text,
    stateChangedBy: text,
    nodes: count,
    nodesConnected: count,
    capacity: amounts,
    used: amounts,
    tasks: count,
    vertices: amounts,
    subsystems: fc.array(fc.record({ name: text, vertices: wide, links: wide }), { maxLength: 3 }),
    state: fc.array(fc.record({ key: text, value: stateValue, setAtMs: wide }), { maxLength: 3 }),
    counters: fc.array(
      fc.record({ key: text, by: fc.constantFrom("nodes" as const, "slots", "jobs") }),
      { maxLength: 3 },
    ),
    credentials: record<CredentialTimesView>({ secretSinceMs: wide, tokenSinceMs: wide }, [
      "secretSinceMs",
      "tokenSinceMs",
    ]),
    revision: wide,
  },
  ["registeredBy", "changedBy", "stateChangedBy"],
);

export const groups = record<GroupView>(
  {
    name,
    weight: fc.double({ noNaN: true }),
    owner: text,
    runningTasksMax: wide,
    queuedTasksMax: wide,
    pausedBy: text,
    changedBy: text,
    tasks: counts(taskStateNames),
    used: amounts,
    usage,
    revision: wide,
  },
  ["runningTasksMax", "queuedTasksMax", "pausedBy", "changedBy", "usage"],
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
    commitMsP99: fc.double({ noNaN: true }),
    placements: wide,
    placementsRefused: wide,
    progressReports: fc.dictionary(name, wide, { maxKeys: 3 }),
    tasksEnded: wide,
    heldBegun: wide,
    heldReturned: wide,
    usage,
  },
  [],
);
