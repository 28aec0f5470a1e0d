import { beforeEach, describe, expect, test } from "vitest";
import { call, callRaw, pathOf } from "../grpc/testing/grpc-client.ts";
import { bytesOf, SENT } from "./testing/wire.ts";
import {
  graphOf,
  refusal,
  REGISTER_SECRET,
  scheduler,
  simple,
  useRainbowBed,
} from "./testing/rainbow-bed.ts";

const bed = useRainbowBed();

describe("a cluster", () => {
  const UUID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);

  test("is registered once, with its own credentials", async () => {
    expect(await bed.register("keebler")).toEqual({ status: 1, token: UUID, secret: UUID });
    expect(bed.tokenOf("keebler")).not.toBe(bed.secretOf("keebler"));
    expect(await bed.register("keebler")).toEqual({ status: 4, token: "", secret: "" });
  });

  test("registered by name alone accepts jobs that name it", async () => {
    expect(await bed.registerAlone("old")).toMatchObject({ token: UUID, status: 1 });
    expect((await bed.plane.operations.getCluster("old")).vertices).toEqual({ cluster: 1 });
  });

  const edge = (source: string, target: string, more: object = {}) => ({
    source,
    target,
    relation: "contains",
    ...more,
  });
  const withEdge = (...edges: object[]): string =>
    JSON.stringify({ graph: { nodes: { "0": { metadata: { type: "cluster" } } }, edges } });
  const refusals: readonly [string, () => Promise<unknown>, string | RegExp][] = [
    ["an empty request", () => bed.register("", "", ""), "request denied"],
    ["a wrong secret", () => bed.register("k", graphOf(1), "wrong"), "request denied"],
    [
      "no nodes",
      () =>
        callRaw(
          bed.client,
          pathOf(scheduler.register),
          bytesOf([1, "k"], [2, REGISTER_SECRET], [5, SENT]),
        ),
      "cluster nodes are required",
    ],
    [
      "nodes that are no JSON",
      () => bed.register("k", "nodes"),
      /^cluster nodes are invalid: error unmarshalling json graph: /,
    ],
    [
      "no graph",
      () => bed.register("k", "{}"),
      "subsystem cluster must have at least one edge and node",
    ],
    [
      "no edges",
      () => bed.register("k", withEdge()),
      "subsystem cluster must have at least one edge and node",
    ],
    [
      "a target that is not there",
      () => bed.register("k", withEdge(edge("0", "1", { label: "x" }))),
      "destination x is defined as an edge, but missing as node in graph",
    ],
    [
      "a source that is not there",
      () => bed.register("k", withEdge(edge("9", "0"))),
      "source 9 is defined as an edge, but missing as node in graph",
    ],
    [
      "another subsystem",
      () => bed.register("k", graphOf(1), REGISTER_SECRET, "foo"),
      "subsystem foo does not exist. Ensure it is created first",
    ],
    [
      "a graph that contains itself",
      () => bed.register("k", withEdge(edge("0", "0"))),
      /cannot contain itself/,
    ],
    ["a name that is none", () => bed.register("a b"), /is not a name/],
  ];
  for (const [name, attempt, text] of refusals) {
    test(`with ${name} is rejected, and nothing of it is stored`, async () => {
      const said = await refusal(attempt());
      if (typeof text === "string") expect(said).toBe(text);
      else expect(said).toMatch(text);
      expect((await bed.plane.operations.listClusters()).clusters).toEqual([]);
      expect((await bed.register("k")).status).toBe(1);
    });
  }

  test("is deleted by a client with its secret", async () => {
    await bed.register("keebler");
    const remove = (name: string, secret: string) =>
      call(bed.client, scheduler.delete, { name, secret });
    expect(await refusal(remove("keebler", ""))).toBe("cluster name and secret are required");
    expect(await refusal(remove("keebler", "no"))).toBe("request denied");
    expect(await refusal(remove("nobody", "no"))).toBe("request denied");
    await bed.submit(simple(1, 1), ["keebler"]);
    expect((await remove("keebler", bed.secretOf("keebler"))).status).toBe(0);
    expect(await bed.plane.operations.getJob("1")).toMatchObject({
      state: "cancelled",
      reason: expect.stringContaining("cluster keebler was deleted"),
    });
    expect((await bed.plane.operations.listClusters()).clusters).toEqual([]);
  });
});

test("jobs of a deleted cluster move to another whose token they came with; others are cancelled", async () => {
  await bed.register("keebler");
  await bed.register("other");
  await bed.submit(simple(1, 1), ["keebler", "other"], { selectAlgorithm: "first" });
  await bed.submit(simple(1, 1), ["keebler"]);
  const secret = bed.secretOf("keebler");
  await call(bed.client, scheduler.delete, { name: "keebler", secret });
  expect(Object.keys((await bed.receive("other")).jobs)).toEqual(["1"]);
  expect(await bed.accept("other", [1])).toBe(2);
  expect(await bed.plane.operations.getJob("2")).toMatchObject({
    state: "cancelled",
    reason: expect.stringContaining("cluster keebler was deleted"),
  });
});

describe("a subsystem", () => {
  const io = JSON.stringify({
    graph: {
      nodes: { io0: { metadata: { type: "io" } }, io1: { metadata: { type: "shm" } } },
      edges: [
        { source: "io0", target: "io1", relation: "contains" },
        { source: "0", target: "io1", relation: "contains" },
      ],
    },
  });
  const add = (more: object = {}) =>
    call(bed.client, scheduler.registerSubsystem, {
      name: "keebler",
      secret: bed.secretOf("keebler"),
      nodes: io,
      subsystem: "io",
      ...more,
    });
  const remove = (subsytem: string, secret = bed.secretOf("keebler")) =>
    call(bed.client, scheduler.deleteSubsystem, { name: "keebler", secret, subsytem });
  beforeEach(() => bed.register("keebler"));

  test("is added once and removed", async () => {
    expect(await add()).toMatchObject({ status: 1, token: "", secret: "" });
    expect(await refusal(add())).toBe("subsystem io already exists for cluster keebler");
    expect((await bed.plane.operations.getCluster("keebler")).subsystems[0]?.name).toBe("io");
    expect((await remove("io")).status).toBe(0);
    expect(await refusal(remove("io"))).toBe("cluster graph keebler does not have subsystem io");
    expect((await add()).status).toBe(1);
  });

  test("is rejected in that server's words", async () => {
    const incomplete = "subsystem nodes, name, cluster name and secret are required";
    for (const field of ["name", "secret", "nodes", "subsystem"]) {
      expect(await refusal(add({ [field]: "" }))).toBe(incomplete);
    }
    expect(await refusal(add({ secret: "no" }))).toBe("request denied");
    expect(await refusal(add({ name: "nobody" }))).toBe("request denied");
    expect(await refusal(add({ nodes: "x" }))).toMatch(/^cluster nodes are invalid: /);
    expect(await refusal(add({ nodes: "{}" }))).toMatch(/at least one edge and node$/);
    expect(await refusal(add({ subsystem: "cluster" }))).toBe(
      "subsystem cluster already exists for cluster keebler",
    );
    const stray = JSON.stringify({
      graph: {
        nodes: { p1: { metadata: { type: "p" } } },
        edges: [{ source: "999", target: "p1", relation: "contains" }],
      },
    });
    expect(await refusal(add({ nodes: stray }))).toMatch(/999/);
    expect((await add()).status).toBe(1);
    expect(await refusal(remove("io", ""))).toBe("cluster name and secret are required");
    expect(await refusal(remove("io", "no"))).toBe("request denied");
    expect(await refusal(remove("cluster"))).toMatch(/delete the cluster instead/);
  });
});

describe("a state", () => {
  const update = (payload: string, secret = bed.secretOf("keebler")) =>
    call(bed.client, scheduler.updateState, { cluster: "keebler", secret, payload });
  const stateOf = async () =>
    Object.fromEntries(
      (await bed.plane.operations.getCluster("keebler")).state.map(({ key, value }) => [
        key,
        value,
      ]),
    );
  beforeEach(() => bed.register("keebler"));

  test("is merged into the known state, whether it is encoded once or twice", async () => {
    expect((await update('{"nodes_free": 3, "zone": "a"}')).status).toBe(2);
    expect((await update(JSON.stringify('{"nodes_free": 4}\n'))).status).toBe(2);
    expect((await update("null")).status).toBe(2);
    expect((await update("{}")).status).toBe(2);
    expect((await update('{"list": [1, {"a": 2}]}')).status).toBe(2);
    expect(await stateOf()).toEqual({ nodes_free: 4, zone: "a", list: '[1,{"a":2}]' });
  });

  test("is rejected in that server's words", async () => {
    const incomplete = "cluster, name, secret, and state file payload are required";
    expect(await refusal(update(""))).toBe(incomplete);
    expect(await refusal(update("{}", ""))).toBe(incomplete);
    expect(await refusal(update("{}", "no"))).toBe("request denied");
    const kinds = [
      ["[]", "array"],
      ["1", "number"],
      ["true", "bool"],
      ['"x"', "string"],
    ] as const;
    for (const [payload, kind] of kinds) {
      expect(await refusal(update(payload))).toBe(
        `json: cannot unmarshal ${kind} into Go value of type types.ClusterState`,
      );
    }
    expect(await refusal(update("{"))).toMatch(/types.ClusterState$/);
    expect(await stateOf()).toEqual({});
  });
});
