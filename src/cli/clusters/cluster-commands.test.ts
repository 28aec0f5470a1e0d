import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ClusterSchema, NodeSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { toAgentRow, toClusterRow } from "../json.ts";
import { renderCluster, renderClusters } from "../render/clusters.ts";
import "../../client/client.ts"; // registers the messages
import { GRAPH, IO, useClusterCli } from "../testing/cluster-cli.ts";

const { busbar, json, said, register, server } = useClusterCli();

describe("a cluster with an agent", () => {
  test("show prints who registered it and since when", async () => {
    const row = toClusterRow(
      create(ClusterSchema, { name: "blue", kind: "pulling", nodes: 2, nodesConnected: 1 }),
    );
    const nodes = [
      { name: "b1", state: "connected", tasks: 3, connectedAtMs: 940_000n },
      { name: "b2", state: "lost", connectedAtMs: 1n, disconnectedAtMs: 700_000n },
    ];
    const agents = nodes.map((node) => toAgentRow(create(NodeSchema, node)));
    const page = { nowMs: 1_000_000, width: undefined, colour: false };
    expect(
      renderCluster({ ...row, agents }, page)
        .split("\n")
        .slice(-3),
    ).toEqual([
      "AGENT  STATE      TASKS  SINCE",
      "b1     connected      3  1m ago",
      "b2     lost           0  5m ago",
    ]);
    expect(renderCluster(row, page)).toMatch(/Agents connected: +1\/2/);
    expect(renderClusters([row], page)).toMatch(/blue +pulling +1\/2/);
  });
});

test("every change of a cluster or a node accepts the revision that it must have", async () => {
  for (const line of [
    "cluster register blue --graph graph.json --if-revision 0",
    "cluster register blue --graph graph.json --update --if-revision 1",
    "subsystem add --cluster blue --name io io.json --if-revision 2",
    "subsystem remove --cluster blue io --if-revision 3",
    "state set --cluster blue free=1 --if-revision 4",
    "state unset --cluster blue free --if-revision 5",
    "cluster delete blue --if-revision 6",
    "nodes set rack1-7 --on-lost keep --if-revision 7",
    "nodes drain rack1-7 --if-revision 8",
  ]) {
    expect(await busbar(line)).toMatchObject({ code: 0, stderr: "" });
  }
  expect(server().conditions).toEqual([
    "registerCluster 0",
    "registerCluster 1",
    "addSubsystem 2",
    "removeSubsystem 3",
    "setClusterState 4",
    "setClusterState 5",
    "deleteCluster 6",
    "setNode 7",
    "drainNode 8",
  ]);
  expect(await busbar("cluster delete blue --if-revision new")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--if-revision: "new" is not a whole number from 0') as string,
  });
});

describe("cluster", () => {
  test("register accepts the name either way and the graph from a file or standard input", async () => {
    expect(await busbar("cluster register --name blue --graph graph.json")).toEqual(
      said("cluster blue registered: 36 core, 64 memory, 3 node"),
    );
    expect(await busbar("cluster register blue --graph - --update")).toEqual(
      said("cluster blue updated: 36 core, 64 memory, 3 node"),
    );
    expect(await register("blue")).toMatchObject({ code: 1, stderr: "busbar: there is one\n" });
    expect(server().asked.registered.map(({ update }) => update)).toEqual([false, true, false]);
    expect(server().asked.registered[1]).toEqual({ name: "blue", graph: GRAPH, update: true });
  });

  test("list is clusters, with those that have agents", async () => {
    await register("blue");
    const list = await busbar("cluster list");
    expect(list.stdout).toMatchInlineSnapshot(`
      "NAME     KIND     CONNECTED  TASKS  GRAPH
      default  managed        1/2      4
      blue     pulling                 0  36 core, 64 memory, 3 node
      "
    `);
    expect(await busbar("clusters")).toEqual(list);
    expect(await json("clusters")).toEqual(await json("cluster list"));
    expect(await json("clusters")).toMatchObject({
      clusters: [
        { name: "default", kind: "managed", nodesConnected: 1 },
        { name: "blue", kind: "pulling", vertices: { node: 3 }, subsystems: [], state: [] },
      ],
    });
  });

  test("show prints all about one, or its graph", async () => {
    await register("blue");
    await busbar("subsystem add io.json");
    await busbar("state set nodes_free=20 zone=north --count-down nodes_free=nodes");
    expect((await busbar("cluster show blue")).stdout).toMatchInlineSnapshot(`
      "Cluster:  blue
      Kind:     pulling
      Since:    1970-01-01 00:16:30Z (10s ago)
      Tasks:    0
      Graph:    36 core, 64 memory, 3 node

      SUBSYSTEM  VERTICES  LINKS
      io                6     15

      KEY         VALUE    TOLD    GOES DOWN BY
      nodes_free  20       1m ago  nodes
      zone        "north"  1m ago
      "
    `);
    expect(await json("cluster show blue --graph")).toEqual(JSON.parse(GRAPH));
    expect((await busbar("cluster show blue --graph")).stdout).toContain('\n  "graph": {\n');
    expect(await busbar("cluster show red")).toMatchObject({
      code: 1,
      stderr: "busbar: there is no cluster red\n",
    });
  });

  test("register --credentials and rotate print credentials that are never shown again", async () => {
    const registered = await busbar("cluster register blue --graph graph.json --credentials");
    expect(registered.stdout).toMatchInlineSnapshot(`
      "cluster blue registered: 36 core, 64 memory, 3 node
      Secret:  fresh-secret
      Token:   fresh-token
      "
    `);
    expect(registered.stderr).toMatchInlineSnapshot(`
      "busbar: these are not shown again; store them where only you can read them
      "
    `);
    const shown = await busbar("cluster show blue");
    expect(shown.stdout).toMatchInlineSnapshot(`
      "Cluster:  blue
      Kind:     pulling
      Since:    1970-01-01 00:16:30Z (10s ago)
      Tasks:    0
      Graph:    36 core, 64 memory, 3 node
      Secret:   since 1970-01-01 00:16:30Z (10s ago)
      Token:    since 1970-01-01 00:16:30Z (10s ago)
      "
    `);
    expect(await json("cluster show blue")).toMatchObject({
      credentials: { secretSinceMs: 990_000, tokenSinceMs: 990_000 },
    });
    expect((await busbar("cluster rotate blue")).stdout).toMatchInlineSnapshot(`
      "Secret:  fresh-secret
      Token:   fresh-token
      "
    `);
    expect((await busbar("cluster rotate blue --token")).stdout).toBe("Token:  fresh-token\n");
    const issued = { secret: "fresh-secret", token: "fresh-token" };
    expect(await json("cluster rotate blue")).toEqual({ cluster: "blue", ...issued });
    expect(await json("cluster rotate blue --secret")).toEqual({
      cluster: "blue",
      secret: "fresh-secret",
    });
    const made = await json("cluster register red --graph graph.json --credentials");
    expect(made).toMatchObject({ name: "red", issued });
    expect(await json("cluster rotate green")).toMatchObject({ error: { code: "not_found" } });
  });

  test("delete removes it", async () => {
    await register("blue");
    expect(await busbar("cluster delete blue")).toEqual(said("cluster blue deleted"));
    expect(await json("cluster delete blue")).toMatchObject({ error: { code: "not_found" } });
  });
});

describe("which cluster", () => {
  const lines = ["subsystem add io.json", "subsystem list", "subsystem show io", "state show"];
  test("is the registered one, unless there are none or several", async () => {
    for (const line of lines) {
      const { code, stderr } = await busbar(line);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/none is registered/)]);
    }
    await register("blue");
    for (const line of lines) expect((await busbar(line)).code).toBe(0);
    await register("red");
    for (const line of lines) {
      const { code, stderr } = await busbar(line);
      expect([code, stderr]).toEqual([2, "busbar: --cluster: is missing; there are blue, red\n"]);
    }
    for (const line of lines) expect((await busbar(`${line} --cluster red`)).code).toBe(0);
  });
});

describe("subsystem", () => {
  test("is added by its name or that of its root, listed, shown and removed", async () => {
    await register("blue");
    expect(await busbar("subsystem list")).toEqual(said("cluster blue has no subsystems"));
    expect(await busbar("subsystem add --cluster blue io.json")).toEqual(
      said("subsystem io added to cluster blue: 6 vertices, 15 links"),
    );
    expect(await json("subsystem add --name disk --file io.json")).toMatchObject({
      name: "blue",
      subsystems: [{ name: "io" }, { name: "disk", vertices: 6, links: 15 }],
    });
    expect((await busbar("subsystem list")).stdout).toContain("disk");
    expect(await json("subsystem list")).toMatchObject({ cluster: "blue", subsystems: [{}, {}] });
    expect(await json("subsystem show io")).toEqual(JSON.parse(IO));
    expect(await busbar("subsystem remove io")).toEqual(
      said("subsystem io of cluster blue removed"),
    );
    expect(await busbar("subsystem remove io")).toMatchObject({ code: 1 });
  });

  const unnamed: readonly [string, string, RegExp][] = [
    ["two roots", IO.replace('"io1"', '"io2"'), /--name: is missing, and x.json has 2 roots/],
    ["a root without a type", IO.replace('"io"', "7"), /the root of x.json has no type/],
    ["no vertices", "{}", /x.json has 0 roots/],
    ["no JSON", "{", /x.json: is not JSON/],
  ];
  for (const [name, content, message] of unnamed) {
    test(`of ${name} needs a name`, async () => {
      await register("blue");
      const { code, stderr } = await busbar("subsystem add x.json", { "x.json": content });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  }

  test("vertices may be a list", async () => {
    await register("blue");
    const graph = { nodes: [{ id: "a", metadata: { type: "spack" } }] };
    const content = JSON.stringify({ graph });
    const { stdout } = await busbar("subsystem add x.json", { "x.json": content });
    expect(stdout).toMatch(/^subsystem spack added/);
  });
});

describe("state", () => {
  test("set reads numbers, true and false, and quoted values as text", async () => {
    await register("blue");
    expect(await busbar("state show")).toEqual(said("cluster blue has reported no state"));
    await busbar(`state set a=20 b=-3.5e2 c=true d=false e=north f="20" g='true' h= i=007 j=a=b`);
    expect(server().asked.state).toEqual([
      {
        values: {
          a: 20,
          b: -350,
          c: true,
          d: false,
          e: "north",
          f: "20",
          g: "true",
          h: "",
          i: "007",
          j: "a=b",
        },
        remove: [],
        counters: undefined,
      },
    ]);
  });

  test("set reads a file, with lower precedence than arguments, and counters", async () => {
    await register("blue");
    await busbar("state set --file state.json nodes_free=5");
    await busbar("state set --file state.json old=1 --count-down nodes_free=nodes");
    await busbar("state set --count-down a=slots --count-down b=jobs");
    await busbar("state set --count-down none");
    const zone = "north";
    expect(server().asked.state).toMatchObject([
      { values: { nodes_free: 5, zone }, remove: ["old"], counters: undefined },
      { values: { nodes_free: 20, zone, old: 1 }, remove: [], counters: [{ by: "nodes" }] },
      {
        values: {},
        counters: [
          { key: "a", by: "slots" },
          { key: "b", by: "jobs" },
        ],
      },
      { values: {}, counters: [] },
    ]);
  });

  test("is shown as one value, and unset by key", async () => {
    await register("blue");
    expect(await json("state set nodes_free=20 --count-down nodes_free=nodes")).toEqual({
      cluster: "blue",
      state: [{ key: "nodes_free", value: 20, setAtMs: 940_000 }],
      counters: [{ key: "nodes_free", by: "nodes" }],
    });
    expect(await json("state show")).toMatchObject({ state: [{ key: "nodes_free" }] });
    await busbar("state unset a b --cluster blue");
    expect(server().asked.state.at(-1)).toMatchObject({ values: {}, remove: ["a", "b"] });
  });

  const wrong: readonly [string, RegExp][] = [
    ["[1]", /s.json: must be an object of keys and values/],
    ["{", /s.json: is not JSON/],
    ['{"a": {"b": 1}}', /s.json: a: must be a number, a text, true, false, or null/],
  ];
  for (const [content, message] of wrong) {
    test(`a file of ${content} is rejected`, async () => {
      const { code, stderr } = await busbar("state set --file s.json", { "s.json": content });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  }
});
