import { type Client, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../testing/eventually.ts";
import { FakeAgent } from "../../../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../../../testing/plane.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { call, connect } from "../../grpc/testing/grpc-client.ts";
import { createHttpServer, type HttpServer } from "../http/http-server.ts";
import { busbarService } from "./service.ts";
import { type Http, httpClient } from "../testing/http-client.ts";

// Names that every JavaScript object has, used as names of all kinds, sent by one door and read by both.
const WORDS = ["constructor", "toString", "hasOwnProperty", "valueOf"];

let plane: TestPlane;
let grpc: GrpcServer;
let rest: HttpServer;
let client: Client;
let http: Http;

beforeEach(async () => {
  ({ plane } = await aPlane());
  const { operations } = plane;
  const shared = { address: "127.0.0.1:0", logger: silentLogger };
  grpc = await createGrpcServer({ ...shared, services: [busbarService(operations, silentLogger)] });
  rest = await createHttpServer({ ...shared, operations, version: "1" });
  client = connect(grpc.address);
  http = httpClient(rest.address);
});
afterEach(async () => {
  client.close();
  await Promise.all([grpc.close(), rest.close()]);
  await plane.close();
});

const spec = (word: string) => ({
  command: [word],
  name: word,
  group: word,
  labels: { [word]: word },
  env: { [word]: word },
});
const graphOf = (word: string) => ({
  graph: {
    nodes: { [word]: { label: word, metadata: { type: word, size: 3, unit: word, [word]: word } } },
  },
});
const { method } = Busbar;

for (const word of WORDS) {
  test(`${word} as a name, group, label and variable of a job`, async () => {
    expect((await http.send("POST", "/v1/jobs", spec(word))).status).toBe(201);
    await call(client, method.submitJobs, { jobs: [{ spec: spec(word) }] });
    for (const id of ["1", "2"]) {
      expect((await http.get(`/v1/jobs/${id}`)).json).toMatchObject({ spec: spec(word) });
      const { spec: shown } = await call(client, method.getJob, { id });
      expect(shown).toMatchObject({ name: word, group: word });
      expect(Object.entries(shown?.labels ?? {})).toEqual([[word, word]]);
      expect(Object.entries(shown?.env ?? {})).toEqual([[word, word]]);
    }
    expect((await http.get("/v1/groups")).json).toMatchObject({ groups: [{ name: word }] });
  });

  test(`${word} as a node, its cluster and its label`, async () => {
    const agent = new FakeAgent(plane);
    agent.hello(word, { cluster: word, labels: { [word]: word } });
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
    const node = (await http.get(`/v1/nodes/${word}`)).json;
    expect(node).toMatchObject({ name: word, cluster: word, labels: { [word]: word } });
    const shown = await call(client, method.getNode, { name: word });
    expect(Object.entries(shown.labels)).toEqual([[word, word]]);
    expect((await http.get(`/v1/clusters/${word}`)).json).toMatchObject({ name: word, nodes: 1 });
  });

  test(`${word} as a resource is rejected by name, or shown as an amount`, async () => {
    const agent = new FakeAgent(plane);
    agent.hello("n1", { capacity: { cpu: 1_000, [word]: 5 } });
    await eventually(() => agent.told.length > 0, { what: "an answer" });
    expect(agent.goodbye).toMatch(new RegExp(`^hello\\.capacity.*${word}.*retry false`));
    const body = { command: ["true"], resources: { [word]: 5 } };
    const refused = await http.send("POST", "/v1/jobs", body);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.json)).toContain(word);
  });

  test(`${word} as a vertex, type, unit, key, subsystem, state and counter of a cluster`, async () => {
    const registered = { name: word, graph: graphOf(word) };
    expect((await http.send("POST", "/v1/clusters", registered)).status).toBe(201);
    await plane.operations.addSubsystem({
      cluster: word,
      name: word,
      document: { graph: { nodes: { s: {} }, edges: [edge(word, "s")] } },
    });
    await plane.operations.setClusterState({
      cluster: word,
      values: { [word]: 7 },
      counters: [{ key: word, by: "jobs" }],
    });
    const cluster = (await http.get(`/v1/clusters/${word}`)).json;
    expect(cluster).toMatchObject({ name: word, vertices: { [word]: 3 } });
    expect(JSON.stringify(cluster)).not.toMatch(/NaN|null/);
    const shown = await call(client, method.getCluster, { name: word });
    expect(Object.entries(shown.vertices)).toEqual([[word, 3]]);
    for (const view of [cluster, shown]) {
      expect(JSON.stringify(view, plain)).toMatch(new RegExp(`"key":"${word}"`));
      expect(JSON.stringify(view, plain)).toMatch(/:7\b/);
    }
    const graph = (await http.get(`/v1/clusters/${word}/graph`)).json;
    expect(graph).toMatchObject(graphOf(word));
  });

  test(`${word} leaves the metrics numeric`, async () => {
    await http.send("POST", "/v1/jobs", spec(word));
    const { text } = await http.get("/metrics");
    expect(text).not.toMatch(/NaN|undefined|null/);
  });
}

test.each(["labels", "env"])("__proto__ in %s of a job is rejected, not lost", async (field) => {
  const texts = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const body = `{"command":["true"],"${field}":{"__proto__":"x"}}`;
  expect((await http.send("POST", "/v1/jobs", body)).status).toBe(400);
  const jobs = [{ spec: { command: ["true"], [field]: texts } }];
  const refused = call(client, method.submitJobs, { jobs });
  await expect(refused).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect((await http.get("/v1/jobs")).json).toMatchObject({ jobs: [] });
});

const edge = (source: string, target: string) => ({ source, target, relation: "contains" });
const plain = (_: string, value: unknown): unknown =>
  typeof value === "bigint" ? Number(value) : value;
