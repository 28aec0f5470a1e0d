import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lammpsClusters, metadataOfClusters } from "../../testing/lammps-clusters.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { aDocument, documentOf, times } from "../../core/graph/testing/documents.ts";
import { limits } from "../../limits.ts";
import type { Operations, SatisfyQuery } from "./operations.ts";

let plane: TestPlane;
let operations: Operations;
beforeEach(async () => {
  ({ plane } = await aPlane());
  ({ operations } = plane);
});
afterEach(() => plane.close());

async function register(name: string, nodes: number, state: Record<string, unknown> = {}) {
  const inside = times(nodes, { type: "node", inside: [{ type: "core", size: 8 }] });
  const graph = documentOf({ type: "cluster", inside });
  await operations.registerCluster({ name, graph });
  if (Object.keys(state).length > 0) {
    await operations.setClusterState({ cluster: name, values: state });
  }
}
const ask = (text: string, selection?: SatisfyQuery["selection"]) =>
  operations.satisfy({ ask: { kind: "jobspec", jobspec: text }, selection });
const asking = (request: unknown) => operations.satisfy({ ask: { kind: "request", request } });

const IO = `
version: 1
resources:
  ior:
    type: node
    replicas: 1
    requires: [{ name: io, match: shm, field: type }]
    with: [{ count: 2, type: core }]
task: { command: [ior] }
`;
const TWO = `
version: 1
resources:
  small: { type: node, count: 1 }
  large: { type: node, count: 3 }
attributes: { parameter: { wanted: 3 } }
tasks:
  - { name: fit, command: [a], resources: large }
  - { name: score, command: [b], resources: small }
`;

describe("satisfy", () => {
  test("follows added and removed subsystems", async () => {
    await register("blue", 2);
    expect(await ask(IO)).toMatchObject({
      ever: [],
      now: [],
      tasks: [{ name: "task-0", clusters: [{ reasons: ["no node with io type=shm"] }] }],
    });
    const io = aDocument({ io1: "shm" }, [["1", "io1"]]);
    await operations.addSubsystem({ cluster: "blue", name: "io", document: io });
    const answer = await ask(IO);
    expect(answer).toMatchObject({ ever: ["blue"], now: ["blue"] });
    expect(answer.tasks[0]?.clusters[0]).toMatchObject({ ever: true, slots: 1, reasons: [] });
    expect(answer).not.toHaveProperty("selection");
    await operations.removeSubsystem({ cluster: "blue", name: "io" });
    expect((await ask(IO)).ever).toEqual([]);
  });

  test("groups that fit only one after the other are satisfied, and the answer says so", async () => {
    await register("small", 4);
    await register("large", 8);
    const groups = ["a", "b"].map((name) => ({
      name,
      resources: "r",
      tasks: [{ command: [name] }],
    }));
    const resources = { r: { type: "node", count: 4 } };
    const answer = await ask(JSON.stringify({ version: 1, resources, groups }));
    expect(answer).toMatchObject({ ever: ["large", "small"], oneAfterOther: ["small"] });
    expect(await ask(TWO)).toMatchObject({ ever: ["large", "small"], oneAfterOther: [] });
  });

  test("a cluster must be able to run every task, and each task has its own answer", async () => {
    await register("small", 2);
    await register("large", 3);
    const answer = await ask(TWO);
    expect(answer.ever).toEqual(["large"]);
    expect(
      answer.tasks.map(({ name, clusters }) => [name, clusters.map(({ ever }) => ever)]),
    ).toEqual([
      ["fit", [true, false]],
      ["score", [true, true]],
    ]);
    const swapped = TWO.replace("[a], resources: large", "[a], resources: small").replace(
      "[b], resources: small",
      "[b], resources: large",
    );
    expect((await ask(swapped)).ever).toEqual(["large"]);
  });

  test("accepts trees of resources as well", async () => {
    await register("blue", 2);
    const tree = { type: "node", isSlot: true, with: [{ type: "core", count: 4 }] };
    expect((await asking([[tree]])).tasks).toMatchObject([
      { name: "request", clusters: [{ cluster: "blue", ever: true, slots: 2 }] },
    ]);
    await expect(asking([[{ typ: "node" }]])).rejects.toThrow(
      'request[0][0]: "typ" is not known; did you mean type?',
    );
  });

  test("reports errors of a jobspec as all operations do", async () => {
    await expect(ask("version: 2\ntasks: []")).rejects.toMatchObject({ code: "unprocessable" });
    const local = "version: 1\nresources: {}\ntasks: [{ command: [a], local: true }]";
    await expect(ask(local)).rejects.toThrow("jobspec: requests no cluster");
  });

  test("rejects a request with too many answers", async () => {
    const tasks = Array.from(
      { length: limits.jobspecItemsMax },
      () => "{ command: [a], resources: r }",
    );
    const text = `version: 1\nresources: { r: { type: node, count: 1 } }\ntasks: [${tasks.join(", ")}]`;
    const clusters = limits.satisfyAnswersMax / limits.jobspecItemsMax;
    for (let at = 0; at < clusters; at++) await register(`c${at}`, 1);
    expect((await ask(text)).tasks).toHaveLength(limits.jobspecItemsMax);
    await register("one-too-many", 1);
    await expect(ask(text)).rejects.toMatchObject({ code: "exhausted" });
  });
});

describe("selection", () => {
  test("shows the cluster that would be chosen, and which ones were dropped and why", async () => {
    await register("tiny", 1, { nodes_free: 9 });
    await register("full", 3, { nodes_free: 0 });
    await register("free", 3, { nodes_free: 3 });
    const priorities = [{ priority: 1, steps: [{ filter: "nodes_free >= wanted" }] }];
    const selection = { strategy: "constraint", options: { priorities } };
    expect((await ask(TWO, selection)).selection).toEqual({
      strategy: "constraint",
      chosen: "free",
      ranked: ["free"],
      dropped: [{ name: "full", reason: "priority 1: nodes_free >= wanted: is false" }],
    });
    const less = { ...selection, parameters: { wanted: 4 } };
    expect((await ask(TWO, less)).selection).toMatchObject({ ranked: [] });
    expect((await ask(TWO, less)).selection).not.toHaveProperty("chosen");
  });

  const wrong: readonly [string, SatisfyQuery["selection"], RegExp][] = [
    ["a strategy", { strategy: "cheapst" }, /^select: .* did you mean cheapest\?/],
    ["options", { strategy: "first", options: [] }, /^selection\.options: must be an object/],
    ["rules", { strategy: "constraint" }, /^options\.priorities: must be a list/],
    [
      "parameters",
      { strategy: "first", parameters: { a: {} } },
      /^selection\.parameters\.a: must be a number/,
    ],
  ];
  for (const [name, selection, message] of wrong) {
    test(`wrong ${name} are rejected with their place`, async () => {
      await expect(ask(TWO, selection)).rejects.toThrow(message);
    });
  }

  test("rejects parameters of a jobspec that are no values", async () => {
    const text = TWO.replace("wanted: 3", "wanted: [3]");
    await expect(ask(text)).resolves.toMatchObject({ ever: [] });
    await expect(ask(text, { strategy: "first" })).rejects.toThrow(
      "attributes.parameter.wanted: must be a number",
    );
  });
});

test("finds the satisfying clusters among 48 different ones", async () => {
  for (const [at, { graph, subsystems }] of lammpsClusters().entries()) {
    const cluster = `cluster-${at}`;
    await operations.registerCluster({ name: cluster, graph });
    for (const [name, document] of subsystems) {
      await operations.addSubsystem({ cluster, name, document });
    }
  }
  const { os, mpi, hardware, "io.archspec": arch } = metadataOfClusters;
  const steps: readonly [Record<string, string | undefined>, number][] = [
    [{}, 48],
    [{ "io.archspec": arch[0] }, 24],
    [{ os: os[1] }, 12],
    [{ mpi: mpi[2] }, 16],
    [{ hardware: hardware[0] }, 24],
    [{ "io.archspec": arch[0], os: os[1] }, 6],
    [{ "io.archspec": arch[0], os: os[1], mpi: mpi[2] }, 2],
    [{ "io.archspec": arch[0], os: os[1], mpi: mpi[2], hardware: hardware[0] }, 1],
  ];
  for (const [asked, count] of steps) {
    const requires = Object.entries(asked).map(([subsystem, type]) => ({
      subsystem,
      conditions: [{ kind: "one-of", field: "type", values: [type] }],
    }));
    const tree = { type: "node", count: 2, requires, with: [{ type: "core", count: 2 }] };
    const answer = await asking([[tree]]);
    expect([answer.ever.length, answer.tasks[0]?.clusters.length]).toEqual([count, 48]);
  }
});
