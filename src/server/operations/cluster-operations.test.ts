import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import type { FakeClock } from "../../testing/fake-clock.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { type JgfDocument } from "../../core/graph/jgf.ts";
import { aDocument, documentOf, times } from "../../core/graph/testing/documents.ts";
import { limits } from "../../limits.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import type { Operations } from "./operations.ts";

const disk = { current: new MemoryDisk() };
let plane: TestPlane;
let clock: FakeClock;
let operations: Operations;

beforeEach(async () => {
  disk.current = new MemoryDisk();
  ({ plane, clock } = await aPlane({ store: createMemoryStore(disk.current) }));
  ({ operations } = plane);
});
afterEach(() => plane.close());

async function restart(): Promise<void> {
  await plane.close();
  ({ plane, clock } = await aPlane({ store: createMemoryStore(disk.current) }));
  ({ operations } = plane);
}

const document = (nodes = 2) =>
  documentOf({
    type: "cluster",
    inside: times(nodes, { type: "node", inside: [{ type: "core", size: 8 }] }),
  });
const io = (vertex = "1") => aDocument({ io0: "shm" }, [[vertex, "io0"]]);
const register = async (name = "blue", nodes = 2, isUpdate = false) =>
  (await operations.registerCluster({ name, graph: document(nodes), isUpdate })).cluster;
const addIo = (vertex?: string) =>
  operations.addSubsystem({ cluster: "blue", name: "io", document: io(vertex) });
const graphOf = async (name: string) =>
  JSON.parse(await operations.getClusterGraph(name)) as JgfDocument;
const ref = { cluster: "blue", name: "io" };
const subsystemOf = async (which: typeof ref) =>
  JSON.parse(await operations.getSubsystem(which)) as JgfDocument;
const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string });

describe("registered clusters", () => {
  test("are shown with their contents, and listed by name", async () => {
    const registeredAtMs = clock.nowMs();
    const blue = await register();
    expect(blue).toEqual({
      name: "blue",
      kind: "pulling",
      createdAtMs: registeredAtMs,
      registeredBy: "local",
      nodes: 0,
      nodesConnected: 0,
      capacity: {},
      used: {},
      tasks: 0,
      vertices: { cluster: 1, core: 16, node: 2 },
      subsystems: [],
      state: [],
      counters: [],
      credentials: {},
      revision: 1,
    });
    await register("azure");
    const { clusters } = await operations.listClusters();
    expect(clusters.map(({ name }) => name)).toEqual(["azure", "blue"]);
    expect(clusters[1]).toEqual(await operations.getCluster("blue"));
  });

  test("are listed beside managed clusters, which show the contents of their nodes", async () => {
    await register();
    const agent = new FakeAgent(plane);
    agent.hello("w1", { capacity: { cpu: 4_000, memory: 2 ** 33 } });
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
    expect((await operations.listClusters()).clusters).toMatchObject([
      { name: "blue", kind: "pulling", nodes: 0, capacity: {} },
      { name: "default", kind: "managed", nodes: 1, nodesConnected: 1, vertices: {} },
    ]);
    await expect(register("default")).rejects.toThrow(/cluster default is managed/);
    const shown = await operations.getCluster("default");
    expect(shown).toMatchObject({ capacity: { cpu: 4 }, vertices: { node: 1, core: 4 } });
    const { graph } = await graphOf("default");
    expect(Object.keys(graph.nodes)).toContain("/default/w1/core");
    await expect(operations.deleteCluster("default")).rejects.toThrow("remove them first");
    const told = await operations.setClusterState({ cluster: "default", values: { a: 1 } });
    expect(told.state).toMatchObject([{ key: "a", value: 1 }]);
  });

  test("with agents accept subsystems linked to their nodes, and return them", async () => {
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
    const named = { cluster: "default", name: "io" };
    const add = (vertex: string) =>
      operations.addSubsystem({
        ...named,
        document: aDocument({ io0: "shm" }, [[vertex, "io0"]]),
      });
    await expect(add("/default/w2")).rejects.toThrow('has a vertex "/default/w2"');
    await expect(add("/default/w1/core")).rejects.toThrow("links begin at /default or at a node");
    const shown = await add("/default/w1");
    expect(shown.subsystems).toEqual([{ name: "io", vertices: 1, links: 1 }]);
    const linked = async () => (await subsystemOf(named)).graph.edges.map(({ source }) => source);
    expect(await linked()).toEqual(["/default/w1"]);
    await add("/default"); // linked to all nodes, future ones too
    const other = new FakeAgent(plane);
    other.hello("w2");
    await eventually(() => other.told.includes("welcome"), { what: "welcome" });
    expect(await linked()).toEqual(["/default/w1", "/default/w2"]);
    await operations.removeSubsystem(named);
    await expect(operations.getSubsystem(named)).rejects.toMatchObject({ code: "not_found" });
  });

  test("accept a compspec artifact as one subsystem for each name in it", async () => {
    await register();
    const document = {
      version: "0.0.0",
      kind: "CompatibilitySpec",
      metadata: { name: "lammps", schemas: {} },
      compatibilities: [
        { name: "mpi", version: "0.0.0", attributes: { implementation: "mpich", version: "4.1" } },
        { name: "os", version: "0.0.0", attributes: { name: "rocky" } },
      ],
    };
    const { subsystems } = await operations.addSubsystem({
      cluster: "blue",
      name: "lammps",
      document,
    });
    expect(subsystems.map(({ name }) => name)).toEqual(["mpi", "os"]);
  });

  test("return the registered graph, as text or as a document", async () => {
    const graph = JSON.stringify(document());
    await operations.registerCluster({ name: "blue", graph });
    const written = await graphOf("blue");
    expect(Object.keys(written.graph.nodes)).toHaveLength(5);
    await operations.registerCluster({ name: "copy", graph: written });
    expect(await graphOf("copy")).toEqual(written);
  });

  test("replace their graph only with isUpdate, and keep state and subsystems", async () => {
    await register();
    await addIo();
    await operations.setClusterState({ cluster: "blue", values: { zone: "north" } });
    await expect(register("blue", 3)).rejects.toEqual(refusal("already_exists", /--update/));
    expect((await operations.getCluster("blue")).vertices).toMatchObject({ node: 2 });
    expect(await register("blue", 3, true)).toMatchObject({
      vertices: { node: 3 },
      subsystems: [{ name: "io", vertices: 1, links: 1 }],
      state: [{ key: "zone", value: "north" }],
    });
  });

  test("are deleted with all their data", async () => {
    await register();
    await addIo();
    expect((await operations.deleteCluster("blue")).revision).toBeGreaterThan(0);
    for (const gone of [
      () => operations.getCluster("blue"),
      () => operations.getClusterGraph("blue"),
      () => operations.getSubsystem(ref),
      () => addIo(),
      () => operations.removeSubsystem(ref),
      () => operations.setClusterState({ cluster: "blue", values: { a: 1 } }),
      () => operations.deleteCluster("blue"),
    ]) {
      await expect(gone()).rejects.toEqual(refusal("not_found", /there is no cluster blue/));
    }
    expect(await register()).toMatchObject({ subsystems: [], state: [] });
  });

  test("are the same after a restart", async () => {
    await register();
    await addIo();
    await operations.setClusterState({
      cluster: "blue",
      values: { nodes_free: 2, spot: true },
      counters: [{ key: "nodes_free", by: "nodes" }],
    });
    const all = [
      await operations.getCluster("blue"),
      await graphOf("blue"),
      await subsystemOf(ref),
    ];
    await restart();
    expect([
      await operations.getCluster("blue"),
      await graphOf("blue"),
      await subsystemOf(ref),
    ]).toEqual(all);
  });

  const wrong: readonly [string, () => Promise<unknown>, string, RegExp][] = [
    ["a name", () => register("a b"), "name", /^name: "a b" is not a name/],
    [
      "text that is no JSON",
      () => operations.registerCluster({ name: "x", graph: "{" }),
      "graph",
      /^graph: is not JSON/,
    ],
    [
      "a document",
      () => operations.registerCluster({ name: "x", graph: { graph: { nodes: { a: 1 } } } }),
      "graph.nodes.a",
      /^graph\.nodes\.a: must be an object/,
    ],
    [
      "a subsystem's name",
      () => operations.addSubsystem({ cluster: "blue", name: "i\no", document: io() }),
      "name",
      /^name: "i␊o" is not a name: 1 to 128 characters/,
    ],
    [
      "a long one",
      () => operations.addSubsystem({ cluster: "blue", name: "x".repeat(129), document: io() }),
      "name",
      /^name: "x+" is not a name/,
    ],
    ["a link", () => addIo("99"), "graph.edges[0].source", /has a vertex "99"/],
    [
      "nothing to set",
      () => operations.setClusterState({ cluster: "blue", values: {} }),
      "values",
      /at least one key .*counters/,
    ],
    [
      "a key that is set and removed",
      () => operations.setClusterState({ cluster: "blue", values: { a: 1 }, remove: ["a"] }),
      "remove",
      /"a" is set and removed in one request/,
    ],
    [
      "a nested value",
      () => operations.setClusterState({ cluster: "blue", values: { a: { b: 1 } } }),
      "state.a",
      /must be a number, a text/,
    ],
    [
      "a counter",
      () =>
        operations.setClusterState({
          cluster: "blue",
          values: {},
          counters: [{ key: "a", by: "cores" }],
        }),
      "counters[0].by",
      /must be nodes, slots or jobs/,
    ],
    [
      "too many counters",
      () =>
        operations.setClusterState({
          cluster: "blue",
          values: {},
          counters: Array.from({ length: limits.countersMax + 1 }, () => ({
            key: "a",
            by: "jobs",
          })),
        }),
      "counters",
      /at most 100, not 101/,
    ],
  ];
  /** Input that the schema of requests allows. */
  const ofMeaning = new Set([
    "text that is no JSON",
    "a document",
    "a link",
    "a key that is set and removed",
  ]);
  for (const [name, act, field, message] of wrong) {
    test(`invalid input is rejected with its place, and changes nothing: ${name}`, async () => {
      await register();
      const before = await operations.listClusters();
      const error = await act().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      const code = ofMeaning.has(name) ? "unprocessable" : "invalid_argument";
      expect(error).toMatchObject({ code, field });
      expect((error as Error).message).toMatch(message);
      expect(await operations.listClusters()).toEqual(before);
    });
  }
});

describe("subsystems", () => {
  test("are added, shown, replaced and removed, under any name", async () => {
    await register();
    expect((await addIo()).subsystems).toEqual([{ name: "io", vertices: 1, links: 1 }]);
    expect(await subsystemOf(ref)).toMatchObject({
      graph: { edges: [{ source: "1", target: "io0", relation: "contains" }] },
    });
    const odd = { cluster: "blue", name: "os/größe 1.0" };
    await operations.addSubsystem({ ...odd, document: JSON.stringify(io("2")) });
    const two = aDocument({ a: "x", b: "y" }, [
      ["1", "a"],
      ["2", "a"],
    ]);
    const view = await operations.addSubsystem({ ...ref, document: two });
    expect(view.subsystems).toEqual([
      { name: "io", vertices: 2, links: 2 },
      { name: "os/größe 1.0", vertices: 1, links: 1 },
    ]);
    await operations.removeSubsystem(odd);
    await operations.removeSubsystem(ref);
    expect((await operations.getCluster("blue")).subsystems).toEqual([]);
    const absent = refusal("not_found", /cluster blue has no subsystem io/);
    await expect(operations.removeSubsystem(ref)).rejects.toEqual(absent);
    await expect(operations.getSubsystem(ref)).rejects.toEqual(absent);
  });
});

describe("state", () => {
  test("given keys are replaced, others stay, with their age", async () => {
    await register();
    const first = clock.nowMs();
    await operations.setClusterState({ cluster: "blue", values: { b: 1, a: "x", c: true } });
    clock.advance(1_000);
    const counters = [{ key: "b", by: "slots" }] as const;
    const view = await operations.setClusterState({
      cluster: "blue",
      values: { b: 2, c: null },
      counters,
    });
    expect(view.state).toEqual([
      { key: "a", value: "x", setAtMs: first },
      { key: "b", value: 2, setAtMs: first + 1_000 },
    ]);
    expect(view.counters).toEqual(counters);
    const rest = await operations.setClusterState({
      cluster: "blue",
      values: {},
      remove: ["b", "never told"],
    });
    expect([rest.state.map(({ key }) => key), rest.counters]).toEqual([["a"], counters]);
  });
});
