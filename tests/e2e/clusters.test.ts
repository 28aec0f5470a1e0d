import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

const contains = (source: string, target: string) => ({ source, target, relation: "contains" });
const vertex = (type: string) => ({ metadata: { type } });
const GRAPH = {
  graph: {
    nodes: { "0": vertex("cluster"), "1": vertex("node"), "2": vertex("node"), "3": vertex("gpu") },
    edges: [contains("0", "1"), contains("0", "2"), contains("1", "3")],
  },
};
const IO = {
  graph: { nodes: { io0: vertex("io"), io1: vertex("shm") }, edges: [contains("2", "io1")] },
};
const JOBSPEC = `
version: 1
resources:
  one:
    type: node
    replicas: 1
    requires: [{ name: io, field: type, match: shm }]
attributes: { parameter: { wanted: 2 } }
tasks: [{ command: [ior], resources: one }]
`;
const RULES = `
- priority: 1
  steps:
  - filter: "nodes_free >= wanted and zone == 'north'"
`;

test("clusters, subsystems and states are the same after kill -9 of the server", async () => {
  site = new Site();
  const file = (name: string, content: unknown): string => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(site.path(name), text);
    return site.path(name);
  };
  const server = await site.startServer();
  await site.json("cluster", "register", "--name", "blue", "--graph", file("g.json", GRAPH));
  await site.json("cluster", "register", "red", "--graph", site.path("g.json"));
  await site.json("subsystem", "add", "--cluster", "blue", file("io.json", IO));
  const told = ["nodes_free=2", "zone=north", "--count-down", "nodes_free=nodes"];
  await site.json("state", "set", "--cluster", "blue", ...told);

  const job = file("job.yaml", JOBSPEC);
  const rules = file("rules.yaml", RULES);
  const questions = [
    ["satisfy", job, "--select", "constraint", "--select-options", rules],
    ["cluster", "show", "blue"],
    ["cluster", "show", "blue", "--graph"],
    ["subsystem", "show", "io", "--cluster", "blue"],
    ["clusters"],
  ];
  const ask = async (): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (const question of questions) answers.push(await site.json(...question));
    return answers;
  };
  const before = await ask();
  expect(before[0]).toMatchObject({
    satisfied: true,
    ever: ["blue"],
    tasks: [
      {
        clusters: [
          { cluster: "blue", ever: true, slots: 1 },
          { cluster: "red", ever: false, reasons: ["no node with io type=shm"] },
        ],
      },
    ],
    selection: { chosen: "blue" },
  });
  await server.end("SIGKILL");
  await site.startServer();
  expect(await ask()).toEqual(before);

  await site.json("subsystem", "remove", "io", "--cluster", "blue");
  await site.json("cluster", "delete", "red");
  const refused = await site.run("satisfy", job);
  expect([refused.code, refused.stdout]).toEqual([
    1,
    expect.stringMatching(/blue +no +no +no node with io type=shm/),
  ]);
  const rest = await fetch(`${site.http}/v1/clusters`);
  expect(await rest.json()).toMatchObject({ clusters: [{ name: "blue", subsystems: [] }] });
});

test("tasks are offered, accepted and reported by the commands of docs/clusters.md", async () => {
  site = new Site();
  await site.startServer();
  writeFileSync(site.path("g.json"), JSON.stringify(GRAPH));
  await site.json("cluster", "register", "blue", "--graph", site.path("g.json"));
  await site.json("submit", "--request", "[[{type: node}]]", "--array", "0-2", "--", "true");
  expect(await site.json("cluster", "offered", "blue")).toHaveLength(3);
  await site.json("cluster", "accept", "blue", "1.0", "1.1", "1.2");
  const report = (...words: string[]) => site.json("cluster", "report", "blue", ...words);
  expect(await report("1.0", "1.1", "--state", "running")).toEqual({ unwanted: [] });
  expect(await report("1.0", "--state", "failed", "--exit-code", "3")).toEqual({ unwanted: [] });
  expect(await report("1.1", "--state", "succeeded")).toEqual({ unwanted: [] });
  expect(await report("1.2", "--state", "returned")).toEqual({ unwanted: [] });
  const { tasks } = (await site.json("tasks", "1")) as { tasks: readonly object[] };
  expect(tasks).toMatchObject([
    { state: "failed", exitCode: 3 },
    { state: "succeeded" },
    { state: "offered", attempt: 2 },
  ]);
});
