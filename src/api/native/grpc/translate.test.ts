import {
  create,
  type DescMessage,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  ClusterSchema,
  CountJobsResponseSchema,
  ExplanationSchema,
  GroupSchema,
  JobFilterSchema,
  JobSchema,
  JobSpecSchema,
  JobSubmissionSchema,
  ListNodesRequestSchema,
  NodeSchema,
  PutGroupRequestSchema,
  ReadOutputRequestSchema,
  State,
  StatsSchema,
  TaskSchema,
  TriedJobSchema,
  TryJobsResponseSchema,
  WatchRequestSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { SatisfyResponseSchema } from "../../../gen/busbar/v1/cluster_pb.ts";
import { aJob, aTask } from "../testing/view-builders.ts";
import { explanations, tried } from "../testing/arbitrary-explanations.ts";
import { satisfied } from "../testing/arbitrary-satisfied.ts";
import * as arbitrary from "../testing/arbitrary-views.ts";
import {
  fromJobState,
  fromTaskState,
  jobStateNames,
  stateOf,
  taskStateNames,
} from "../state-names.ts";
import * as from from "./translate.ts";
import { toCluster, toSatisfied } from "./translate-clusters.ts";
import { toGroup, toNode, toStats, toWatchEvent } from "./translate-fleet.ts";
import {
  toCountsAnswer,
  toExplanation,
  toJob,
  toJobSpec,
  toTask,
  toTried,
} from "./translate-jobs.ts";

/** A value without its zero values, which proto3 cannot distinguish from absent ones. */
function essence(value: unknown, key = ""): unknown {
  if (typeof value === "bigint") return essence(Number(value), key);
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((each) => essence(each));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value)
      .filter(([name]) => name !== "$typeName")
      .map(([name, each]) => [name, isMap(key) ? each : essence(each, name)] as const)
      .filter(([, each]) => each !== undefined);
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return value === "" || value === 0 || value === false ? undefined : value;
}
/** In maps a zero value is a value. */
const isMap = (key: string): boolean =>
  ["labels", "env", "resources", "capacity", "used", "vertices", "parameters"].includes(key);

/** The message's states as words, and through bytes, as a client receives it. */
function seen<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): unknown {
  const read = fromBinary(schema, toBinary(schema, message)) as Record<string, unknown>;
  const { facts, ...others } = read;
  // A text, because machines' facts have free form.
  if (typeof facts === "string") {
    return essence({ ...others, facts: JSON.parse(facts) as unknown });
  }
  if (typeof read["state"] !== "number") return essence(read);
  return essence({ ...read, state: fromTaskState(read["state"] as State, "state") });
}

const check = <View>(views: fc.Arbitrary<View>, see: (view: View) => unknown): void =>
  fc.assert(
    fc.property(views, (view) => {
      expect(see(view)).toEqual(essence(view));
    }),
  );

test("a job loses nothing on the wire", () =>
  check(arbitrary.jobs, (view) => {
    const read = fromBinary(JobSchema, toBinary(JobSchema, toJob(view)));
    const spec = read.spec && from.fromJobSpec(read.spec, "spec"); // the JSON inside it is parsed there
    return essence({ ...read, spec, state: fromTaskState(read.state, "state") });
  }));
test("a trial loses nothing on the wire", () =>
  check(tried, (view) => {
    const answer = toTried({ jobs: [view], revision: 1 });
    const bytes = toBinary(TryJobsResponseSchema, answer);
    const [read = create(TriedJobSchema)] = fromBinary(TryJobsResponseSchema, bytes).jobs;
    return essence(read);
  }));
test("a task loses nothing on the wire", () =>
  check(arbitrary.tasks, (view) => seen(TaskSchema, toTask(view))));
test("a node loses nothing on the wire", () =>
  check(arbitrary.nodes, (view) => seen(NodeSchema, toNode(view))));
test("a cluster loses nothing on the wire", () =>
  check(arbitrary.clusters, (view) => {
    const read = fromBinary(ClusterSchema, toBinary(ClusterSchema, toCluster(view)));
    // A value that is 0, empty or false is a value; its case shows which of the three.
    expect(read.state.map(({ value }) => value?.value.value)).toEqual(
      view.state.map(({ value }) => value),
    );
    const state = read.state.map((entry, at) => ({ ...entry, value: view.state[at]?.value }));
    return essence({ ...read, state });
  }));
test("an answer of satisfy loses nothing on the wire", () =>
  check(satisfied, (view) => seen(SatisfyResponseSchema, toSatisfied(view))));
test("a group loses nothing on the wire", () =>
  check(arbitrary.groups, (view) => seen(GroupSchema, toGroup(view))));
test("an explanation loses nothing on the wire", () =>
  check(explanations, (view) => seen(ExplanationSchema, toExplanation(view))));
test("statistics lose nothing on the wire", () =>
  check(arbitrary.stats, (view) => seen(StatsSchema, toStats(view))));
test("counts lose nothing on the wire", () =>
  check(arbitrary.countings, (view) => seen(CountJobsResponseSchema, toCountsAnswer(view))));

test("a spec that was sent comes back the same", () => {
  check(arbitrary.specs, (view) => {
    const bytes = toBinary(JobSpecSchema, toJobSpec(view));
    return essence(from.fromJobSpec(fromBinary(JobSpecSchema, bytes), "jobs[0]"));
  });
});

test("every state has one number, and converts back from it", () => {
  const numbers = Object.values(State).filter((state) => state !== State.UNSPECIFIED);
  expect(taskStateNames.map((name) => stateOf[name])).toEqual(numbers);
  for (const name of taskStateNames) expect(fromTaskState(stateOf[name], "state")).toBe(name);
  for (const name of jobStateNames) expect(fromJobState(stateOf[name], "state")).toBe(name);
});

test("absent fields stay absent, and an absent spec is an error", () => {
  const spec = from.fromJobSpec(create(JobSpecSchema), "");
  expect(Object.values(spec).filter((value) => value !== undefined)).toEqual([]);
  expect(() => from.fromSubmission(create(JobSubmissionSchema), 3)).toThrow(
    "jobs[3].spec: is missing",
  );
  expect(from.fromJobFilter(undefined)).toEqual({});
  expect(essence(from.fromWatch(create(WatchRequestSchema)))).toBeUndefined();
});

const wrong: readonly [string, () => unknown, string][] = [
  [
    "a time beyond 2^53",
    () => from.fromJobSpec(create(JobSpecSchema, { timeLimitMs: 2n ** 60n }), "jobs[2]"),
    "jobs[2].timeLimitMs: 1152921504606846976 is out of range",
  ],
  [
    "a retry's backoff beyond 2^53",
    () => from.fromJobSpec(create(JobSpecSchema, { retries: { backoffMs: -(2n ** 60n) } }), "x"),
    "x.retries.backoffMs: -1152921504606846976 is out of range",
  ],
  [
    "a state only tasks have",
    () => from.fromJobFilter(create(JobFilterSchema, { states: [State.PENDING, State.WAITING] })),
    "filter.states[1]: waiting",
  ],
  [
    "a state that does not exist",
    () => from.fromJobFilter(create(JobFilterSchema, { states: [99 as State] })),
    "filter.states[0]: 99 is not a state",
  ],
  [
    "a node's state that does not exist",
    () => from.fromNodeFilter(create(ListNodesRequestSchema, { state: "conected" })),
    'state: "conected" is not a state of a node; did you mean connected?',
  ],
  [
    "a node's state that every object has",
    () => from.fromNodeFilter(create(ListNodesRequestSchema, { state: "constructor" })),
    "is not a state of a node",
  ],
  [
    "a stream that does not exist",
    () => from.fromReadOutput(create(ReadOutputRequestSchema, { stream: 7 as 1 })),
    "stream: 7 is not a stream",
  ],
];
for (const [name, translate, message] of wrong) {
  test(`${name} is rejected by its field`, () => expect(translate).toThrow(message));
}

test("a group's limit of 0 is a value, an absent one is not", () => {
  const put = create(PutGroupRequestSchema, { name: "g", runningTasksMax: 0n, owner: "" });
  expect(from.fromPutGroup(put)).toEqual({
    name: "g",
    weight: undefined,
    owner: "",
    runningTasksMax: 0,
    queuedTasksMax: undefined,
  });
});

test("kinds of a watch are the set ones", () => {
  const watch = create(WatchRequestSchema, { jobs: true, nodes: true, afterRevision: 9n });
  expect(from.fromWatch(watch)).toMatchObject({ kinds: ["job", "node"], afterRevision: 9 });
});

test("each kind of event has its case", () => {
  const events = [
    toWatchEvent({ kind: "sync", revision: 1 }),
    toWatchEvent({ kind: "job", revision: 2, job: aJob() }),
    toWatchEvent({ kind: "task", revision: 2, task: aTask() }),
    toWatchEvent({ kind: "removed", revision: 3, what: "node", id: "n1" }),
  ];
  expect(events.map(({ event, revision }) => [event.case, revision])).toEqual([
    ["sync", 1n],
    ["job", 2n],
    ["task", 2n],
    ["removed", 3n],
  ]);
  expect(events[3]?.event.value).toMatchObject({ kind: "node", id: "n1" });
});
