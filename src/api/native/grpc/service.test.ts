import { create, toBinary } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OutputStream } from "../../../gen/busbar/v1/agent_pb.ts";
import {
  Busbar,
  State,
  SubmitJobsRequestSchema,
  type WatchEvent,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { OperationsAccess } from "../../../server/operations/operations.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { busbarService } from "./service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import {
  call,
  callRaw,
  collect,
  connect,
  failure,
  pathOf,
  stream,
  streamRaw,
} from "../../grpc/testing/grpc-client.ts";
import { aJob } from "../testing/view-builders.ts";
import { createTraffic } from "../../grpc/traffic.ts";

const refuse = { next: undefined as unknown };
const operations = createFakeOperations({
  explainJob: () => Promise.reject(refuse.next),
});
const traffic = createTraffic();
let server: GrpcServer;
let client: Client;

beforeAll(async () => {
  server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [busbarService(operations, silentLogger, traffic)],
    logger: silentLogger,
  });
  client = connect(server.address);
});
afterAll(async () => {
  client.close();
  await server.close();
});

const { method } = Busbar;

test("jobs are submitted, shown, listed, counted and cancelled", async () => {
  const spec = { command: ["true"], group: "g", priority: 7 };
  const submitted = await call(client, method.submitJobs, {
    jobs: [{ spec, idempotencyKey: "k" }, { spec: { script: "exit 1" } }],
  });
  expect(submitted.jobs.map(({ id, existed }) => [id, existed])).toEqual([
    ["1", false],
    ["2", false],
  ]);
  expect(submitted.jobs[0]?.warning).toBe("no node could run it");
  expect(submitted.revision).toBe(1n);
  expect(operations.principals.at(-1)).toBe("local");

  const again = await call(client, method.submitJobs, { jobs: [{ spec, idempotencyKey: "k" }] });
  expect(again.jobs[0]).toMatchObject({ id: "1", existed: true });
  expect(again.jobs[0]).not.toHaveProperty("warning");

  const shown = await call(client, method.getJob, { id: "1" });
  expect(shown).toMatchObject({ id: "1", state: State.PENDING, idempotencyKey: "k" });
  expect(shown.spec).toMatchObject({ name: "true", group: "g", priority: 7 });

  const filter = { states: [State.PENDING], labels: { a: "b" }, group: "g", node: "n", name: "x" };
  const page = await call(client, method.listJobs, { filter, pageSize: 5, pageToken: "t" });
  expect(page.jobs.map(({ id }) => id)).toEqual(["2", "1"]);
  expect(page.nextPageToken).toBe("more");
  expect(operations.last()?.args).toEqual([
    {
      states: ["pending"],
      labels: { a: "b" },
      group: "g",
      cluster: undefined,
      node: "n",
      name: "x",
    },
    { pageSize: 5, pageToken: "t" },
  ]);

  const counted = await call(client, method.countJobs, { group: "g" });
  expect(counted.jobs["succeeded"]).toBe(3n);
  expect(operations.last()).toEqual({ name: "countJobs", args: ["g"] });

  const tasks = await call(client, method.listTasks, { jobId: "1", states: [State.WAITING] });
  expect(tasks.tasks[0]).toMatchObject({ jobId: "1", node: "n1" });
  expect(operations.last()?.args[1]).toEqual(["waiting"]);

  expect(await call(client, method.getTask, { id: "1" })).toMatchObject({ id: "1", node: "n1" });
  expect(operations.last()).toEqual({ name: "getTask", args: ["1"] });

  const said = { id: "1", percent: 40.5, message: "step 3", attempt: 1 };
  expect(await call(client, method.reportProgress, said)).toMatchObject({
    id: "1",
    progress: { percent: 40.5, message: "step 3" },
  });
  expect(operations.last()).toEqual({
    name: "reportProgress",
    args: ["1", { percent: 40.5, message: "step 3", attempt: 1 }],
  });

  const held = await call(client, method.holdJob, { id: "1", reason: "later", ifRevision: 3n });
  expect(held).toMatchObject({ id: "1", reason: "later" });
  expect(operations.last()?.args).toEqual(["1", "later", { ifRevision: 3 }]);
  expect(await call(client, method.releaseJob, { id: "1" })).toMatchObject({ id: "1" });
  expect(await call(client, method.requeueJob, { id: "1", reason: "slow" })).toMatchObject({
    reason: "slow",
  });
  const set = { id: "1", priority: 7, timeLimitMs: 0n, group: "g" };
  expect(await call(client, method.updateJob, set)).toMatchObject({ spec: { priority: 7 } });
  expect(operations.last()?.args[1]).toMatchObject({ priority: 7, timeLimitMs: 0, group: "g" });
  const rerun = await call(client, method.rerunJob, { id: "1", failedOnly: true });
  expect(rerun.jobs).toMatchObject([{ id: "19", existed: true }]);

  const cancelled = await call(client, method.cancelJob, { id: "1", reason: "enough" });
  expect(cancelled).toMatchObject({ state: State.CANCELLED, reason: "enough" });
});

test("nodes, clusters, groups and statistics are shown and changed", async () => {
  expect((await call(client, method.listNodes, { state: "connected" })).nodes).toHaveLength(1);
  expect(operations.last()?.args[0]).toEqual({ cluster: undefined, state: "connected" });
  expect((await call(client, method.getNode, { name: "n1" })).capacity["cpu"]).toBe(4);
  const drained = await call(client, method.drainNode, { name: "n1", reason: "disk" });
  expect(drained).toMatchObject({ state: "draining", drainReason: "disk" });
  expect((await call(client, method.undrainNode, { name: "n1" })).state).toBe("connected");
  const set = await call(client, method.setNode, { name: "n1", onLost: "keep", lostAfterMs: 9 });
  expect(set).toMatchObject({ onLost: "keep", lostAfterMs: 9n });
  expect((await call(client, method.listClusters)).clusters[0]?.nodesConnected).toBe(1);
  const group = await call(client, method.putGroup, { name: "new", weight: 2.5 });
  expect(group).toMatchObject({ name: "new", weight: 2.5 });
  expect(group.runningTasksMax).toBeUndefined();
  expect((await call(client, method.listGroups)).groups).toHaveLength(2);
  expect((await call(client, method.removeGroup, { name: "new" })).revision).toBe(2n);
  expect((await call(client, method.removeNode, { name: "n1" })).revision).toBe(2n);
  expect((await call(client, method.getStats)).nodes["lost"]).toBe(1n);
});

test("outputs and watches are streams", async () => {
  const request = { taskId: "1", stream: OutputStream.STDERR, offset: 7n, attempt: 2 };
  const parts = await collect(stream(client, method.readOutput, request));
  expect(Buffer.concat(parts.map(({ data }) => data)).toString()).toBe("of 1\n");
  expect(operations.last()?.args[0]).toMatchObject({ stream: "stderr", offset: 7, attempt: 2 });
  const events: WatchEvent[] = [];
  const watch = stream(client, method.watch, { afterRevision: 8n, jobId: "1" });
  watch.on("data", (event: WatchEvent) => events.push(event));
  const end = await new Promise((resolve) => watch.once("error", resolve));
  expect(end).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  expect(events.map(({ event, revision }) => `${event.case} ${revision}`)).toEqual([
    "sync 8",
    "job 9",
    "task 10",
    "node 11",
    "cluster 12",
    "group 13",
    "service 14",
    "removed 15",
  ]);
});

test("a change names the expected revision", async () => {
  const request = { name: "n1", ifRevision: 7n };
  await call(client, method.undrainNode, request).catch(() => undefined); // the row may be removed
  expect(operations.last()).toMatchObject({ name: "undrainNode", args: ["n1", { ifRevision: 7 }] });
});

test("a backup arrives as bytes", async () => {
  const parts = await collect(stream(client, method.backup, {}));
  expect(Buffer.concat(parts.map(({ data }) => data)).toString()).toBe("a copy of all data");
});

test("every method of the service was called by these tests", () => {
  const called = new Set([...traffic.methods()].map((each) => each.method));
  const uncalled = Object.values(method).filter(({ name }) => !called.has(name));
  const inClustersTest = [
    "GetCluster",
    "RegisterCluster",
    "DeleteCluster",
    "GetClusterGraph",
    "AddSubsystem",
    "RemoveSubsystem",
    "GetSubsystem",
    "SetClusterState",
    "ListOfferedTasks",
    "AcceptTasks",
    "ReportTasks",
    "RotateClusterCredentials",
    "SetCredentials",
    "Satisfy",
  ];
  const inServicesTest = [
    "ListServices",
    "GetService",
    "ApplyService",
    "ScaleService",
    "RollbackService",
    "RemoveService",
    "ListInstances",
    "GetInstance",
    "AddInstances",
    "RemoveInstances",
  ];
  const inSubmitTest = ["SubmitJobspec", "TryJobs"];
  const elsewhere = [...inSubmitTest, "ExplainJob", "Attach", ...inClustersTest, ...inServicesTest];
  expect(uncalled.map(({ name }) => name)).toEqual(elsewhere);
});

test("explanations arrive, and every error keeps its code, message and field", async () => {
  const codes = {
    invalid_argument: status.INVALID_ARGUMENT,
    not_found: status.NOT_FOUND,
    already_exists: status.ALREADY_EXISTS,
    permission_denied: status.PERMISSION_DENIED,
    conflict: status.FAILED_PRECONDITION,
    compacted: status.OUT_OF_RANGE,
    exhausted: status.RESOURCE_EXHAUSTED,
    unavailable: status.UNAVAILABLE,
    internal: status.INTERNAL,
  } as const;
  for (const [code, wire] of Object.entries(codes)) {
    refuse.next = new AppError(code as keyof typeof codes, `said ${code} …`, { field: "id" });
    const error = await failure(call(client, method.explainJob, { id: "1" }));
    expect(error).toMatchObject({ code: wire, details: `id: said ${code} …` });
    expect(error.metadata.get("busbar-field")).toEqual(["id"]);
  }
  refuse.next = new TypeError("x is undefined");
  const error = await failure(call(client, method.explainJob, { id: "1" }));
  expect(error).toMatchObject({ code: status.INTERNAL, details: "internal error" });
});

test("a rejected stream ends with the error", async () => {
  const request = { taskId: "nope" };
  const error = await failure(collect(stream(client, method.readOutput, request)));
  expect(error).toMatchObject({ code: status.NOT_FOUND, details: "job: there is no job nope" });
});

test("invalid bytes are rejected with the name of the message, and never crash", async () => {
  const bad = await failure(callRaw(client, pathOf(method.submitJobs), Buffer.from([0x0a, 0xff])));
  expect(bad).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: "the request is not a busbar.v1.SubmitJobsRequest",
  });
  const methods = fc.constantFrom(...Object.values(method));
  const noise = fc.oneof(fc.uint8Array({ maxLength: 200 }), damagedRequest);
  await fc.assert(
    fc.asyncProperty(methods, noise, async (each, bytes) => {
      const path = pathOf(each);
      const answered =
        each.methodKind === "unary"
          ? callRaw(client, path, bytes)
          : collect(streamRaw(client, path, bytes));
      const code = await answered.then(
        () => status.OK,
        (error: { readonly code: status }) => error.code,
      );
      expect(code).toBeTypeOf("number");
      expect([status.UNKNOWN, status.UNAVAILABLE, status.CANCELLED]).not.toContain(code);
      // The fake explains nothing; every other method must return another code than "internal".
      if (each !== method.explainJob) expect(code).not.toBe(status.INTERNAL);
    }),
    { numRuns: 400 },
  );
});

test("errors report requests and answers that are too large", async () => {
  const script = "x".repeat(limits.messageBytesMax + 1);
  const sent = await failure(call(client, method.submitJobs, { jobs: [{ spec: { script } }] }));
  expect(sent.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(sent.details).toMatch(/larger than max/);

  const huge = createFakeOperations({ getJob: async () => aJob({ reason: script }) });
  const other = await serve(huge);
  const answered = await failure(call(other.client, method.getJob, { id: "1" }));
  expect(answered.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(answered.details).toMatch(/the answer of GetJob has \d+ bytes.*ask for less/);
  await other.close();
});

/** A valid request with one changed byte. */
const damagedRequest = fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([at, value]) => {
  const spec = { command: ["a", "b"], env: { A: "b" }, retries: { max: 3 }, timeLimitMs: 5n };
  const bytes = toBinary(
    SubmitJobsRequestSchema,
    create(SubmitJobsRequestSchema, { jobs: [{ spec, idempotencyKey: "k" }] }),
  );
  bytes[at % bytes.length] = value;
  return bytes;
});

async function serve(operations: OperationsAccess) {
  const server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [busbarService(operations, silentLogger)],
    logger: silentLogger,
  });
  const client = connect(server.address);
  const close = async (): Promise<void> => {
    client.close();
    await server.close();
  };
  return { client, close };
}
