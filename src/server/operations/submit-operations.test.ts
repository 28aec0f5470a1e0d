import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { anObedientAgent } from "../../testing/fake-agent.ts";
import { documentOf, times } from "../../core/graph/testing/documents.ts";
import { limits } from "../../limits.ts";
import type { JobspecInput, Operations, SubmissionInput } from "./operations.ts";

let plane: TestPlane;
let operations: Operations;
beforeEach(async () => {
  ({ plane } = await aPlane());
  ({ operations } = plane);
});
afterEach(() => plane.close());

const ALLOWED = { allowUnsatisfiable: true };

async function register(name: string, nodes: number, cores = 8): Promise<void> {
  const inside = times(nodes, { type: "node", inside: [{ type: "core", size: cores }] });
  await operations.registerCluster({ name, graph: documentOf({ type: "cluster", inside }) });
}

const WORKFLOW = `
version: 1
resources:
  small: { type: node, count: 1, with: [{ type: core, count: 1 }] }
  wide: { type: node, count: 2, with: [{ type: core, count: 4 }] }
  slots: { type: node, replicas: 3, with: [{ type: core, count: 1 }] }
attributes: { parameter: { wanted: 3 } }
tasks:
  - { name: report, command: [report], resources: small, depends_on: [fit, each] }
  - { name: fit, command: [fit], resources: wide }
  - { name: each, command: [each], resources: slots }
`;

const submit = (text: string, more: Partial<JobspecInput> = {}) =>
  operations.submitJobspec({ jobspec: text, ...more });
const states = async (): Promise<unknown> => {
  const { jobs } = await operations.listJobs({}, {});
  return jobs
    .toReversed()
    .map(({ spec, state, tasks, reason }) => [spec.name, state, tasks.offered, reason ?? ""]);
};
const tryJobs = async (jobs: SubmissionInput[]) =>
  (await operations.tryJobs({ kind: "jobs", jobs })).jobs;
const tryJobspec = async (text: string) =>
  (await operations.tryJobs({ kind: "jobspec", jobspec: { jobspec: text } })).jobs;

describe("a jobspec", () => {
  test("becomes jobs with the requests and the dependencies of its tasks", async () => {
    await register("blue", 3);
    const { jobs } = await submit(WORKFLOW, { common: { group: "g", priority: 3 } });
    expect(jobs.map(({ id, name }) => [id, name])).toEqual([
      ["1", "fit"],
      ["2", "each"],
      ["3", "report"],
    ]);
    expect(await states()).toEqual([
      ["fit", "pending", 1, "offered to cluster blue, which has not accepted it yet"],
      ["each", "pending", 1, "offered to cluster blue, which has not accepted it yet"],
      ["report", "pending", 0, expect.stringContaining("waits for")],
    ]);
    expect((await operations.getJob("3")).spec).toMatchObject({
      group: "g",
      priority: 3,
      dependsOn: [{ kind: "afterok", on: ["fit", "each"] }],
      select: { parameters: { wanted: 3 } },
    });
    expect((await operations.getTask("1")).cluster).toBe("blue");
    const onBlue = await operations.listJobs({ cluster: "blue" }, {});
    expect(onBlue.jobs.map(({ id }) => id)).toEqual(["2", "1"]);
    expect((await operations.listJobs({ cluster: "red" }, {})).jobs).toEqual([]);
    expect((await operations.explainJob("1")).summary).toContain(
      "1 task offered to cluster blue, which",
    );
  });

  test("is rejected whole when one of its jobs is unsatisfiable", async () => {
    await register("small", 1);
    await expect(submit(WORKFLOW)).rejects.toMatchObject({
      code: "unschedulable",
      message: expect.stringMatching(/^fit: .* cluster small: 1 node, 2 requested/) as string,
      field: "fit",
    });
    expect(await states()).toEqual([]);
    await submit(WORKFLOW, { allowUnsatisfiable: true });
    expect(await states()).toHaveLength(3);
  });

  test("is offered to a pull cluster as a whole, and placed on nodes process by process", async () => {
    const text = WORKFLOW.replace("replicas: 3", "replicas: 3, label: x").split("tasks:")[0] ?? "";
    const each = `${text}tasks: [{ name: each, command: [each], resources: slots }]`;
    const where = async (common: JobspecInput["common"] = {}) => {
      const ask = { kind: "jobspec", jobspec: { jobspec: each, common } } as const;
      const [job] = (await operations.tryJobs(ask)).jobs;
      return job === undefined ? "none" : `${job.tasks}: ${job.placements[0]?.cluster ?? "waits"}`;
    };
    await register("small", 2); // has capacity for two of the three
    expect(await where()).toBe("1: waits");
    const satisfied = async () =>
      (await operations.satisfy({ ask: { kind: "jobspec", jobspec: each } })).ever;
    expect(await satisfied()).toEqual([]);
    await register("large", 3);
    expect(await where()).toBe("1: large");
    expect(await satisfied()).toEqual(["large"]);
    await anObedientAgent(plane);
    expect(await where()).toBe("3: default");
    expect(await satisfied()).toEqual(["default", "large"]);
    expect(await where({ placement: { cluster: "large" } })).toBe("1: large");
    expect(await where({ placement: { kind: "pulling" } })).toBe("1: large");
    expect(await where({ placement: { cluster: "default" } })).toBe("3: default");
  });

  test("has a key, and a repeated submission finds its jobs", async () => {
    await register("blue", 3);
    await submit(WORKFLOW, { idempotencyKey: "k" });
    const { jobs } = await submit(WORKFLOW, { idempotencyKey: "k" });
    expect(jobs.map(({ id, existed }) => [id, existed])).toEqual([
      ["1", true],
      ["2", true],
      ["3", true],
    ]);
  });

  test("an error about a key in use names the task, in a submission and in a trial", async () => {
    await register("blue", 3);
    await submit(WORKFLOW, { idempotencyKey: "k" });
    const jobspec = { jobspec: WORKFLOW.replace("[each]", "[other]"), idempotencyKey: "k" };
    const refusal = { message: expect.stringMatching(/^each\.idempotencyKey: /) as string };
    await expect(operations.submitJobspec(jobspec)).rejects.toMatchObject(refusal);
    const tried = operations.tryJobs({ kind: "jobspec", jobspec });
    await expect(tried).rejects.toMatchObject(refusal);
  });

  test("runs on managed nodes, each process by itself", async () => {
    await anObedientAgent(plane);
    const text = WORKFLOW.replace("type: node, count: 2", "type: node, count: 1").replace(
      "count: 4",
      "count: 1",
    );
    await submit(text);
    await expect.poll(async () => (await operations.getJob("3")).state).toBe("succeeded");
    expect((await operations.getJob("2")).taskTotal).toBe(3);
  });

  test("errors name their place in the jobspec, and its parameters must be values", async () => {
    await expect(submit("version: 1\ntsks: []")).rejects.toMatchObject({
      code: "unprocessable",
    });
    await expect(submit(WORKFLOW.replace("wanted: 3", "wanted: [3]"))).rejects.toThrow(
      "attributes.parameter.wanted: must be a number",
    );
    await expect(submit(WORKFLOW.replaceAll("fit", "'17'"))).rejects.toThrow(
      "17: a name must not look like the id of a job",
    );
  });
});

describe("trying", () => {
  test("shows where tasks would be placed, and changes nothing", async () => {
    await register("blue", 3);
    const [fit, each, report] = await tryJobspec(WORKFLOW);
    expect(fit).toMatchObject({
      tasks: 1,
      placements: [{ index: 0, cluster: "blue" }],
      waiting: 0,
    });
    expect(each).toMatchObject({ tasks: 1, placements: [{ index: 0, cluster: "blue" }] });
    expect(report).toMatchObject({
      placements: [],
      waiting: 1,
      reason: "waits for the jobs it depends on",
    });
    expect(await states()).toEqual([]);
    expect(await operations.getCluster("blue")).toMatchObject({ tasks: 0 });
  });

  test("shows why tasks would stay pending, and what would let them start", async () => {
    await anObedientAgent(plane);
    const spec = { command: ["a"], resources: { cpu: 3 }, array: "0-1" };
    const [tried] = await tryJobs([{ spec }]);
    expect(tried).toMatchObject({
      tasks: 2,
      placements: [{ index: 0, node: "w1" }],
      waiting: 1,
      possible: true,
    });
    const [never] = await tryJobs([{ spec: { command: ["a"], resources: { cpu: 5 } } }]);
    expect(never).toMatchObject({
      possible: false,
      waiting: 1,
      reasons: [{ reason: "too small: has 4 cpu, 5 cpu requested" }],
      cheapestChange: "ask for 4 cpu instead of 5 cpu: node w1 has that free",
    });
  });

  test("places no job that would not start yet, and no more tasks than run at once", async () => {
    await anObedientAgent(plane);
    await operations.putGroup({ name: "night", paused: true });
    const command = ["a"];
    const tried = await tryJobs([
      { spec: { command, beginAtMs: 8_640_000_000_000_000 } },
      { spec: { command, beginAtMs: 1 } },
      { spec: { command, group: "night" } },
      { spec: { command, array: "0-4%2" } },
    ]);
    expect(
      tried.map(({ placements, waiting, reason }) => [placements.length, waiting, reason]),
    ).toEqual([
      [0, 1, "not before +275760-09-13T00:00:00.000Z"],
      [1, 0, undefined],
      [0, 1, expect.stringMatching(/^group night is paused by /)],
      [2, 3, "its array runs at most 2 at once"],
    ]);
  });

  test("rejects jobs that a submission would reject", async () => {
    const jobs = [{ spec: { command: ["a"], dependsOn: [{ on: ["nobody"] }] } }];
    await expect(tryJobs(jobs)).rejects.toThrow("jobs[0].dependsOn[0].on[0]");
    await expect(tryJobs([{ spec: {} }])).rejects.toThrow("jobs[0].command");
  });
});

test("the answer to a large submission does not delay a small one in the same commit", async () => {
  const jobs = (count: number) =>
    Array.from({ length: count }, () => ({ spec: { command: ["a"] } }));
  const order: string[] = [];
  const large = operations.submitJobs(jobs(limits.jobsPerSliceMax + 1), ALLOWED);
  // The server checks the large one in slices; this one arrives when the large one is about to be decided.
  await new Promise((resolve) => setImmediate(resolve));
  const small = operations.submitJobs(jobs(1), ALLOWED);
  const note =
    (name: string) =>
    ({ jobs: [first], revision }: Awaited<typeof small>): void =>
      void order.push(`${name}: job ${first?.id}, revision ${revision}`);
  await Promise.all([large.then(note("large")), small.then(note("small"))]);
  const next = limits.jobsPerSliceMax + 2;
  const revision = next + 2; // every job has a revision, and so has each largest id
  expect(order).toEqual([
    `small: job ${next}, revision ${revision}`,
    `large: job 1, revision ${revision}`,
  ]);
});

describe("explaining", () => {
  test("a job with open dependencies shows what would help the first of them", async () => {
    await anObedientAgent(plane);
    const allowed = { allowUnsatisfiable: true };
    const jobs = [
      { spec: { name: "a", command: ["a"], resources: { cpu: 5 } } },
      { spec: { name: "b", command: ["b"], dependsOn: [{ on: ["a"] }] } },
      { spec: { name: "c", command: ["c"], dependsOn: [{ on: ["b"] }] } },
    ];
    await operations.submitJobs(jobs, allowed);
    const change = "ask for 4 cpu instead of 5 cpu: node w1 has that free";
    expect((await operations.explainJob("1")).cheapestChange).toBe(change);
    expect((await operations.explainJob("3")).cheapestChange).toBe(
      `of job 1 (a), on which it depends: ${change}`,
    );
  });

  test("a job that waits for running tasks, or for its group, needs no change", async () => {
    const agent = await anObedientAgent(plane);
    agent.onWork = undefined; // it runs without end
    await operations.putGroup({ name: "default", runningTasksMax: 1 });
    await operations.submitJobs([
      { spec: { name: "a", command: ["a"] } },
      { spec: { name: "b", command: ["b"], dependsOn: [{ on: ["a"] }] } },
      { spec: { name: "c", command: ["c"] } },
    ]);
    expect((await operations.explainJob("2")).cheapestChange).toBe("none: it waits for job 1 (a)");
    expect((await operations.explainJob("3")).cheapestChange).toBe(
      "none: it starts when a task of group default ends",
    );
  });

  test("shows the answer of each cluster, and which parts of it can change", async () => {
    await register("blue", 2);
    await operations.setClusterState({ cluster: "blue", values: { nodes_free: 0 } });
    const priorities = [{ priority: 1, steps: [{ filter: "nodes_free > 0" }] }];
    const spec = {
      command: ["a"],
      request: [[{ type: "node", with: [{ type: "core", count: 2 }] }]],
      select: { strategy: "constraint", options: { priorities } },
    };
    await operations.submitJobs([{ spec }]);
    expect(await operations.explainJob("1")).toMatchObject({
      summary: "1 task waits: 1 cluster could run it later",
      clusters: [
        {
          cluster: "blue",
          kind: "pulling",
          verdict: "later",
          reasons: ["priority 1: nodes_free > 0: is false"],
        },
      ],
      cheapestChange: "another state of cluster blue: priority 1: nodes_free > 0: is false",
    });
    await operations.setClusterState({ cluster: "blue", values: { nodes_free: 1 } });
    expect(await operations.getTask("1")).toMatchObject({ state: "offered", cluster: "blue" });
  });
});

describe("requests", () => {
  const wrong: readonly [string, SubmissionInput["spec"], string][] = [
    ["a tree", { request: [[{ typ: "node" }]] }, 'jobs[0].request[0][0]: "typ" is not known'],
    ["a count", { request: [[{ type: "node", count: 0 }]] }, "jobs[0].request[0].count"],
    [
      "both",
      { request: [[{ type: "node" }]], resources: { cpu: 1 } },
      "jobs[0].request: give either resources or a request",
    ],
    [
      "a kind",
      { placement: { kind: "pushing" } },
      'jobs[0].placement.kind: "pushing" is not one of',
    ],
    ["a strategy", { select: { strategy: "cheapst" } }, "jobs[0].select: "],
    [
      "options",
      { select: { strategy: "constraint", options: { priorities: 1 } } },
      "jobs[0].select.options.priorities: must be a list",
    ],
    ["parameters", { select: { parameters: { a: [] } } }, "jobs[0].select.parameters.a: must be"],
    [
      "options of no strategy",
      { select: { options: {} } },
      "jobs[0].select.options: belong to a strategy",
    ],
  ];
  for (const [name, spec, message] of wrong) {
    test(`wrong ${name} are rejected with their place`, async () => {
      const job = { spec: { command: ["a"], ...spec } };
      await expect(operations.submitJobs([job])).rejects.toThrow(message);
    });
  }
});

test("the options of all jobs in one submission are bounded together", async () => {
  const jobs = Array.from({ length: 100 }, (_, at) => {
    const priorities = `- priority: ${at}\n  steps:\n    - select: first\n#${"x".repeat(1_000)}`;
    return {
      spec: { command: ["true"], select: { strategy: "constraint", options: { priorities } } },
    };
  });
  const refusal = {
    code: "unprocessable",
    field: expect.stringMatching(/^jobs\[3\d\]\.select\.options$/),
  };
  await expect(operations.submitJobs(jobs)).rejects.toMatchObject(refusal);
  expect((await operations.listJobs({}, {})).jobs).toEqual([]);
  const equal = jobs.map(() => jobs[0] ?? { spec: {} });
  expect((await operations.submitJobs(equal)).jobs).toHaveLength(100);
});
