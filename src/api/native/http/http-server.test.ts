import { createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import type { JobFilter } from "../../../server/operations/operations.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Http, httpClient } from "../testing/http-client.ts";

const refuse = { next: undefined as unknown };
let isReady = true;
const operations = createFakeOperations({
  getNode: () => Promise.reject(refuse.next),
  isReady: () => isReady,
});
let server: HttpServer;
let http: Http;

beforeAll(async () => {
  server = await createHttpServer({
    operations,
    address: "127.0.0.1:0",
    logger: silentLogger,
    version: "1.2.3",
  });
  http = httpClient(server.address);
});
afterAll(() => server.close());

test("one job is submitted by itself, and found at its location", async () => {
  const spec = { command: ["true"], resources: { cpu: 0.5, memory: "4GiB" }, timeLimitMs: 5 };
  const created = await http.send("POST", "/v1/jobs", spec);
  expect(created).toMatchObject({
    status: 201,
    json: { id: "1", existed: false, warning: "no node could run it", revision: 1 },
  });
  expect(operations.last()).toMatchObject({
    name: "submitJobs",
    args: [
      [
        {
          spec: {
            command: ["true"],
            resources: { cpu: 0.5, memory: 4 * 1_024 ** 3 },
            timeLimitMs: 5,
          },
        },
      ],
      {},
    ],
  });
  const shown = await http.get(created.headers.get("location") ?? "");
  expect(shown).toMatchObject({ status: 200, json: { id: "1", state: "pending" } });
});

test("many jobs are submitted together, each with a key of its own", async () => {
  const jobs = [{ command: ["a"], idempotencyKey: "k1" }, { script: "b" }];
  const created = await http.send("POST", "/v1/jobs", { jobs });
  expect(created).toMatchObject({
    status: 201,
    json: {
      jobs: [
        { id: "2", existed: false },
        { id: "3", existed: false },
      ],
    },
  });
  const again = await http.send("POST", "/v1/jobs", { jobs: jobs.slice(0, 1) });
  expect(again).toMatchObject({ status: 200, json: { jobs: [{ id: "2", existed: true }] } });
});

test("a body of almost 4 MiB is accepted", async () => {
  const jobs = Array.from({ length: 10_000 }, () => ({
    command: ["true"],
    cwd: `/${"x".repeat(300)}`,
  }));
  const { status, json } = await http.send("POST", "/v1/jobs", { jobs });
  expect(status).toBe(201);
  expect((json as { jobs: unknown[] }).jobs).toHaveLength(10_000);
});

test("the header Idempotency-Key is the key of one job", async () => {
  const header = { "idempotency-key": "h1" };
  expect((await http.send("POST", "/v1/jobs", { script: "x" }, header)).status).toBe(201);
  const again = await http.send("POST", "/v1/jobs", { script: "x", idempotencyKey: "h1" }, header);
  expect(again).toMatchObject({ status: 200, json: { existed: true } });
  const both = await http.send("POST", "/v1/jobs", { script: "x", idempotencyKey: "h2" }, header);
  expect(both).toMatchObject({ status: 422, error: { field: "idempotencyKey" } });
  const many = await http.send("POST", "/v1/jobs", { jobs: [{ script: "x" }] }, header);
  expect(many).toMatchObject({ status: 422, error: { field: "Idempotency-Key" } });
});

test("lists are filtered by the query, with repeated words or commas", async () => {
  const query = "state=pending,running&state=failed&label=a=b&label=c=d=e&group=g&cluster=c&node=n";
  const page = await http.get(`/v1/jobs?${query}&name=x&pageSize=7&pageToken=t`);
  expect(page).toMatchObject({ status: 200, json: { nextPageToken: "more" } });
  const labels = { a: "b", c: "d=e" };
  const states = ["pending", "running", "failed"];
  expect(operations.last()?.args).toMatchObject([
    { states, labels, group: "g", cluster: "c", node: "n", name: "x" },
    { pageSize: 7, pageToken: "t" },
  ]);
  expect((await http.get("/v1/jobs?label=__proto__=x")).status).toBe(200);
  const asked = operations.last()?.args[0] as JobFilter | undefined;
  expect(Object.keys(asked?.labels ?? {})).toEqual(["__proto__"]);
});

test("jobs are counted, explained, and cancelled with or without a reason", async () => {
  expect((await http.get("/v1/jobs/count?group=g")).json).toMatchObject({ jobs: { succeeded: 3 } });
  expect(operations.last()).toEqual({ name: "countJobs", args: ["g"] });
  expect((await http.get("/v1/jobs/1/explain")).json).toMatchObject({ hints: ["add a node"] });
  expect((await http.get("/v1/jobs/1/tasks?state=waiting&pageSize=2")).json).toMatchObject({
    tasks: [{ jobId: "1" }],
  });
  expect(operations.last()?.args.slice(0, 2)).toEqual(["1", ["waiting"]]);
  expect((await http.get("/v1/tasks/1")).json).toMatchObject({ id: "1", node: "n1" });
  const said = await http.send("POST", "/v1/tasks/1/progress", { percent: 40.5, message: "a" });
  expect(said.json).toMatchObject({ id: "1", progress: { percent: 40.5, message: "a" } });
  expect((await http.send("POST", "/v1/tasks/1/progress", { message: "a" })).status).toBe(400);
  const cancelled = await http.send("POST", "/v1/jobs/1/cancel", { reason: "enough" });
  expect(cancelled.json).toMatchObject({ state: "cancelled", reason: "enough" });
  expect((await http.send("POST", "/v1/jobs/1/cancel")).status).toBe(200);
  expect((await http.send("POST", "/v1/jobs/1/cancel", "")).status).toBe(200);
  expect(operations.last()?.args).toEqual(["1", "", {}]);
  await http.send("POST", "/v1/jobs/1/cancel", { ifRevision: 7 });
  expect(operations.last()?.args).toEqual(["1", "", { ifRevision: 7 }]);
  await http.send("DELETE", "/v1/groups/g?ifRevision=8");
  expect(operations.last()?.args).toEqual(["g", { ifRevision: 8 }]);
  expect(operations.principals.at(-1)).toBe("local");
});

test("an offered task has the fields of the schema, and no others", async () => {
  const { json } = await http.get("/v1/clusters/local/offered");
  const [task] = (json as { tasks: object[] }).tasks;
  expect(Object.keys(task ?? {}).sort()).toEqual(["attempt", "id", "offeredAtMs", "spec"]);
});

test("nodes, clusters, groups and statistics are shown and changed", async () => {
  expect((await http.get("/v1/nodes?state=connected&cluster=c")).json).toMatchObject({
    nodes: [{ name: "n1" }],
  });
  expect(operations.last()?.args[0]).toEqual({ cluster: "c", state: "connected" });
  const drained = await http.send("POST", "/v1/nodes/n1/drain", { reason: "disk" });
  expect(drained.json).toMatchObject({ state: "draining", drainReason: "disk" });
  expect((await http.send("POST", "/v1/nodes/n1/undrain")).json).toMatchObject({ name: "n1" });
  expect((await http.send("DELETE", "/v1/nodes/n1")).status).toBe(200);
  expect((await http.get("/v1/clusters")).json).toMatchObject({ clusters: [{ name: "local" }] });
  const put = await http.send("PUT", "/v1/groups/new", { weight: 2, runningTasksMax: 0 });
  expect(put.json).toMatchObject({ name: "new", weight: 2 });
  expect(operations.last()?.args[0]).toEqual({ name: "new", weight: 2, runningTasksMax: 0 });
  expect((await http.get("/v1/groups")).json).toMatchObject({ groups: [{}, { name: "new" }] });
  expect((await http.send("DELETE", "/v1/groups/new")).status).toBe(200);
  expect((await http.get("/v1/stats")).json).toMatchObject({ version: "1.2.3" });
});

test("health shows that the process is up, readiness whether it accepts commands", async () => {
  expect(await http.get("/readyz")).toMatchObject({ status: 200, json: { ok: true } });
  isReady = false;
  expect(await http.get("/healthz")).toMatchObject({ status: 200, json: { ok: true } });
  expect(await http.get("/readyz")).toMatchObject({ status: 503, error: { code: "unavailable" } });
  isReady = true;
});

const CODES = {
  invalid_argument: 400,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  conflict: 409,
  compacted: 410,
  exhausted: 429,
  unavailable: 503,
  internal: 500,
} as const;
test("every error keeps its code, message and field", async () => {
  for (const [code, status] of Object.entries(CODES)) {
    refuse.next = new AppError(code as keyof typeof CODES, `said ${code}`, { field: "name" });
    expect(await http.get("/v1/nodes/n1")).toMatchObject({
      status,
      json: { error: { code, message: `name: said ${code}`, field: "name" } },
    });
  }
  refuse.next = new TypeError("secret");
  const answer = await http.get("/v1/nodes/n1");
  expect(answer).toMatchObject({
    status: 500,
    json: { error: { code: "internal", message: "internal error" } },
  });
});

test("pages from other origins are refused, programs and own pages are not", async () => {
  const answers = [
    await http.send("POST", "/v1/jobs/1/cancel", undefined, { origin: "https://evil.example" }),
    await http.get("/v1/jobs", { origin: "null" }),
    await http.send("POST", "/v1/jobs/1/cancel", undefined, { origin: "http://localhost:9999" }),
    await http.get("/v1/jobs", { origin: http.url.replace("http:", "https:") }),
  ];
  for (const answer of answers) {
    expect(answer).toMatchObject({
      status: 403,
      error: { code: "permission_denied", field: "Origin" },
    });
  }
  expect((await http.get("/v1/jobs", { origin: http.url })).status).toBe(200);
  for (const site of ["cross-site", "same-site"]) {
    const headers = { "sec-fetch-site": site };
    expect(await http.send("POST", "/v1/jobs/1/cancel", undefined, headers)).toMatchObject({
      status: 403,
      error: { field: "Sec-Fetch-Site" },
    });
    expect((await http.get("/v1/jobs", headers)).status).toBe(403);
  }
  expect((await http.get("/v1/jobs", { "sec-fetch-site": "same-origin" })).status).toBe(200);
});

test("the error about a port in use names it, and says how to choose another", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as { port: number };
  const address = `127.0.0.1:${port}`;
  const taken = createHttpServer({ operations, address, logger: silentLogger, version: "1" });
  await expect(taken).rejects.toMatchObject({
    code: "unavailable",
    message: `${address} is taken by another program; choose another with --http`,
  });
  await new Promise((resolve) => other.close(resolve));
});
