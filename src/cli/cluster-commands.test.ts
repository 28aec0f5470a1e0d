import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClusterSchema, NodeSchema } from "../gen/busbar/v1/busbar_pb.ts";
import { toAgentRow, toClusterRow } from "./cluster-rows.ts";
import { renderCluster, renderClusters } from "./render/clusters.ts";
import { runHere } from "./testing/context.ts";
import { startFakeServer } from "./testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

const GRAPH = '{"graph": {"nodes": {"0": {"metadata": {"type": "cluster"}}}}}';
const IO = JSON.stringify({
  graph: {
    nodes: { io0: { metadata: { type: "io" } }, io1: { metadata: { type: "shm" } } },
    edges: [
      { source: "2", target: "io1", relation: "contains" },
      { source: "io1", target: "2", relation: "in" },
    ],
  },
});
const files: Record<string, string> = {
  "graph.json": GRAPH,
  "io.json": IO,
  "-": GRAPH,
  "state.json": '{"nodes_free": 20, "old": null, "zone": "north"}',
  "rules.yaml": '- priority: 1\n  steps:\n  - filter: "nodes_free > 0"\n',
  "rainbow.yaml": "priorities: |\n  - priority: 1\n    steps:\n    - select: random\n",
  "key.json": '{"key": "cost"}',
};

async function busbar(line: string, more: Record<string, string> = {}) {
  const known: Record<string, string> = { ...files, ...more };
  const env = { BUSBAR_SERVER: server.address };
  const readInput = async (path: string) => Buffer.from(known[path] ?? "");
  const { code, stdout, stderr } = await runHere(line.split(" "), { env, readInput });
  return { code, stdout, stderr };
}
const json = async (line: string): Promise<unknown> => {
  const { stdout } = await busbar(`${line} --output json`);
  return JSON.parse(stdout);
};
const said = (stdout: string) => ({ code: 0, stdout: `${stdout}\n`, stderr: "" });
const register = (name: string) => busbar(`cluster register ${name} --graph graph.json`);

describe("a cluster that is spoken for", () => {
  test("show tells by whom and since when", async () => {
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

describe("cluster", () => {
  test("register takes the name either way and the graph from a file or standard input", async () => {
    expect(await busbar("cluster register --name blue --graph graph.json")).toEqual(
      said("cluster blue registered: 36 core, 64 memory, 3 node"),
    );
    expect(await busbar("cluster register blue --graph - --update")).toEqual(
      said("cluster blue updated: 36 core, 64 memory, 3 node"),
    );
    expect(await register("blue")).toMatchObject({ code: 1, stderr: "busbar: there is one\n" });
    expect(server.asked.registered.map(({ update }) => update)).toEqual([false, true, false]);
    expect(server.asked.registered[1]).toEqual({ name: "blue", graph: GRAPH, update: true });
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

  test("show tells all of one, or prints its graph", async () => {
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

  test("register --credentials and rotate print what is never shown again", async () => {
    const registered = await busbar("cluster register blue --graph graph.json --credentials");
    expect(registered.stdout).toMatchInlineSnapshot(`
      "cluster blue registered: 36 core, 64 memory, 3 node
      Secret:  fresh-secret
      Token:   fresh-token
      "
    `);
    expect(registered.stderr).toMatchInlineSnapshot(`
      "busbar: these are not shown again; keep them where nobody else reads them
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

  test("delete forgets it", async () => {
    await register("blue");
    expect(await busbar("cluster delete blue")).toEqual(said("cluster blue deleted"));
    expect(await json("cluster delete blue")).toMatchObject({ error: { code: "not_found" } });
  });
});

describe("which cluster", () => {
  const lines = ["subsystem add io.json", "subsystem list", "subsystem show io", "state show"];
  test("is the one that is registered, unless there is none or are several", async () => {
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
  test("set reads numbers, true and false, and what is in quotes as text", async () => {
    await register("blue");
    expect(await busbar("state show")).toEqual(said("cluster blue has told nothing of itself"));
    await busbar(`state set a=20 b=-3.5e2 c=true d=false e=north f="20" g='true' h= i=007 j=a=b`);
    expect(server.asked.state).toEqual([
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

  test("set takes a file, before which arguments go, and counters", async () => {
    await register("blue");
    await busbar("state set --file state.json nodes_free=5");
    await busbar("state set --file state.json old=1 --count-down nodes_free=nodes");
    await busbar("state set --count-down a=slots --count-down b=jobs");
    await busbar("state set --count-down none");
    const zone = "north";
    expect(server.asked.state).toMatchObject([
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
    expect(server.asked.state.at(-1)).toMatchObject({ values: {}, remove: ["a", "b"] });
  });

  const wrong: readonly [string, RegExp][] = [
    ["[1]", /s.json: must be an object of keys and values/],
    ["{", /s.json: is not JSON/],
    ['{"a": {"b": 1}}', /s.json: a: must be a number, a text, true, false, or null/],
  ];
  for (const [content, message] of wrong) {
    test(`a file of ${content} is refused`, async () => {
      const { code, stderr } = await busbar("state set --file s.json", { "s.json": content });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  }
});

describe("satisfy", () => {
  test("exits with 0 when a cluster can run it, with 1 and the reasons when none can", async () => {
    await register("blue");
    await register("red");
    const good = await busbar("satisfy job.yaml", { "job.yaml": "version: 1" });
    expect(good.code).toBe(0);
    expect(good.stdout).toMatchInlineSnapshot(`
      "CLUSTER  EVER  NOW  SLOTS
      blue     yes   yes      3
      red      yes   yes      3
      "
    `);
    const bad = await busbar("satisfy job.yaml", { "job.yaml": "impossible" });
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatchInlineSnapshot(`
      "CLUSTER  EVER  NOW  WHY NOT
      blue     no    no   there is no gpu; or 2 nodes, 9 asked
      red      no    no   there is no gpu; or 2 nodes, 9 asked
      "
    `);
  });

  test("of several tasks has a section each, and a line for all of them", async () => {
    await register("blue");
    await register("red");
    const { code, stdout } = await busbar("satisfy job.yaml", { "job.yaml": "two" });
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "fit
      CLUSTER  EVER  NOW  SLOTS
      blue     yes   yes      3
      red      yes   yes      3

      score
      CLUSTER  EVER  NOW  SLOTS  WHY NOT
      blue     yes   yes      3
      red      no    no          there is no gpu; or 2 nodes, 9 asked

      can run all 2 tasks: blue
      "
    `);
  });

  test("without clusters says so", async () => {
    expect(await busbar("satisfy job.yaml", { "job.yaml": "version: 1" })).toEqual({
      code: 1,
      stdout: "there are no clusters\n",
      stderr: "",
    });
  });

  test("sends the text as it is, a list as a request", async () => {
    await busbar("satisfy a", { a: "version: 1 # as written" });
    await busbar("satisfy a", { a: ' [[{"type": "node"}]]' });
    expect(server.asked.satisfy).toEqual([
      { ask: { case: "jobspec", value: "version: 1 # as written" } },
      { ask: { case: "request", value: ' [[{"type": "node"}]]' } },
    ]);
  });

  test("--select tells who would be chosen and who not", async () => {
    await register("blue");
    await register("red");
    const line = "satisfy a --select constraint --select-options rules.yaml --parameter n=4";
    const { stdout } = await busbar(line, { a: "version: 1" });
    expect(stdout).toContain("\nconstraint selects blue\nnot red: nodes_free > 0: is false\n");
    expect(server.asked.satisfy[0]).toMatchObject({
      strategy: "constraint",
      options: '{"priorities":[{"priority":1,"steps":[{"filter":"nodes_free > 0"}]}]}',
      parameters: { n: 4 },
    });
    expect(await json("satisfy a --select first")).toMatchObject({
      satisfied: true,
      ever: ["blue", "red"],
      selection: { chosen: "blue", dropped: [{ name: "red" }] },
    });
    await busbar("satisfy a --select cheapest --select-options key.json");
    await busbar("satisfy a --select-options rainbow.yaml");
    expect(server.asked.satisfy.slice(-2)).toMatchObject([
      { strategy: "cheapest", options: '{"key":"cost"}' },
      {
        strategy: "constraint",
        options: JSON.stringify({
          priorities: "- priority: 1\n  steps:\n  - select: random\n", // the server reads it
        }),
      },
    ]);
  });

  const wrong: readonly [string, RegExp][] = [
    ["- a: [", /busbar: o.yaml:\d+:\d+: /],
    ["just words", /o.yaml: must be an object of options, or a list of priorities/],
    ["a: 1\n---\nb: 2", /o.yaml:3:1: a second document; give one at a time/],
    ["[".repeat(40), /o.yaml:1:17: is nested more than 16 deep/],
  ];
  for (const [content, message] of wrong) {
    test(`options of ${JSON.stringify(content.slice(0, 20))} are refused`, async () => {
      const { code, stderr } = await busbar("satisfy a --select-options o.yaml", {
        "o.yaml": content,
      });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  }
});

describe("tasks that a cluster runs by itself", () => {
  test("are listed", async () => {
    await register("blue");
    const { stdout } = await busbar("cluster offered blue");
    expect(stdout.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, "  "))).toMatchObject([
      "ID  NAME  WORK  NEEDS  OFFERED",
      expect.stringMatching(/^17 {2}train {2}train --fast {2}cpu 2 {2}/) as string,
      expect.stringMatching(/^18.3 {2}train/) as string,
      "",
    ]);
    expect(await busbar("cluster offered blue --max 1")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("and 1 more; see --max") as string,
    });
    expect(await json("cluster offered blue --max 1")).toMatchObject([
      { id: "17", attempt: 1, spec: { command: ["train", "--fast"] }, offeredAtMs: 990_000 },
    ]);
    expect(await busbar("cluster offered red")).toMatchObject({ code: 1 });
  });

  test("are taken, and what was not to be had is told", async () => {
    expect(await busbar("cluster accept blue 17 18.3")).toEqual(said("17\n18.3"));
    expect(await busbar("cluster accept blue 17 9")).toMatchObject({
      code: 1,
      stdout: "17\n",
      stderr: expect.stringContaining("9 was not to be had: it is running already") as string,
    });
  });

  test("are told of", async () => {
    const line =
      "cluster report blue 17 18.3 --state failed --exit-code 3 --stdout out --attempt 2";
    const told = await busbar(line, { out: "hello" });
    expect(told).toEqual(said("told of 2 tasks"));
    const report = { attempt: 2, state: "failed", exitCode: 3, stdout: "hello", stderr: "" };
    expect(server.asked.reports).toMatchObject([
      { id: "17", ...report },
      { id: "18.3", ...report },
    ]);
    expect((await busbar("cluster report blue 9 --state running")).stderr).toContain(
      "9 is not wanted there (any more): stop it",
    );
    expect(await busbar("cluster report blue 9 --state gone")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("none of running, succeeded, failed, returned") as string,
    });
    expect((await busbar("cluster report blue 9")).code).toBe(2);
  });
});
