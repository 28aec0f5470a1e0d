import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { ANONYMOUS, LOCAL, type Principal } from "../../core/access/principal.ts";
import { AgentMessageSchema, Agents } from "../../gen/busbar/v1/agent_pb.ts";
import { Busbar } from "../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { type Arrival, byAddress } from "../grpc/identify.ts";
import { createGrpcServer, type GrpcServer } from "../grpc/server.ts";
import { call, collect, connect, failure, openBidi, stream } from "../grpc/testing/grpc-client.ts";
import { agentService } from "./grpc/agent-service.ts";
import { busbarService } from "./grpc/service.ts";
import { createHttpServer, type HttpServer } from "./http/http-server.ts";
import { silentLogger as silent } from "../../testing/silent-logger.ts";
import { type Http, httpClient } from "./testing/http-client.ts";

const { method } = Busbar;
let plane: TestPlane;
let grpc: GrpcServer;
let rest: HttpServer;
let client: Client;
let http: Http;
let identify: (arrival: Arrival) => Principal;

beforeEach(async () => {
  ({ plane } = await aPlane());
  identify = byAddress;
  const address = "127.0.0.1:0";
  const shared = {
    address,
    logger: silent,
    identify: (arrival: Arrival): Principal => identify(arrival),
  };
  const { operations, sessions } = plane;
  const services = [busbarService(operations, silent), agentService(sessions, silent)];
  grpc = await createGrpcServer({ ...shared, services });
  rest = await createHttpServer({ ...shared, operations, version: "1.2.3" });
  client = connect(grpc.address);
  http = httpClient(rest.address);
});
afterEach(async () => {
  client.close();
  await Promise.all([grpc.close(), rest.close()]);
  await plane.close();
});

const jobs = [{ spec: { command: ["true"] } }];
const submit = () => call(client, method.submitJobs, { jobs, allowUnsatisfiable: true });

describe("a principal without permission", () => {
  beforeEach(() => void (identify = () => ANONYMOUS));

  test("is rejected over gRPC, for unary calls and streams", async () => {
    const refusals = [
      submit(),
      call(client, method.listNodes),
      call(client, method.putGroup, { name: "g" }),
      collect(stream(client, method.watch)),
      collect(stream(client, method.readOutput, { taskId: "1" })),
      collect(stream(client, method.backup)),
    ];
    // All answers may arrive at once.
    for (const error of await Promise.all(refusals.map(failure))) {
      expect([error.code, error.details]).toEqual([
        status.PERMISSION_DENIED,
        expect.stringMatching(/^anonymous lacks the permission \S+, which .*admin/),
      ]);
    }
    expect((await plane.operations.countJobs()).jobs.pending).toBe(0);
  });

  test("is rejected over REST", async () => {
    const answers = await Promise.all([
      http.send("POST", "/v1/jobs", { command: ["true"] }),
      http.get("/v1/nodes"),
      http.send("PUT", "/v1/groups/g", { weight: 2 }),
      http.get("/v1/watch"),
      http.get("/v1/tasks/1/output"),
      http.get("/v1/backup"),
    ]);
    expect(answers.map(({ status: code, error }) => [code, error?.code])).toEqual(
      answers.map(() => [403, "permission_denied"]),
    );
    expect(answers[0]?.error?.message).toBe(
      "anonymous lacks the permission jobs.submit, which the roles admin, submitter, go-schedule, rik, user have",
    );
    expect((await http.get("/readyz")).status).toBe(200);
  });

  test("cannot connect an agent", async () => {
    const session = openBidi(client, Agents.method.session);
    session.on("data", () => undefined);
    const ended = new Promise<{ code: number }>((resolve) => session.once("error", resolve));
    const value = { node: "w1", agentKey: "k".repeat(32), bootId: "b", capacity: { cpu: 4_000 } };
    session.write(create(AgentMessageSchema, { message: { case: "hello", value } }));
    expect((await ended).code).toBe(status.PERMISSION_DENIED);
    expect((await plane.operations.listNodes({}, {})).nodes).toEqual([]);
  });
});

test("a caller that cannot be identified is rejected", async () => {
  identify = () => {
    throw new AppError("permission_denied", "no such token");
  };
  expect(await failure(submit())).toMatchObject({
    code: status.PERMISSION_DENIED,
    details: "no such token",
  });
  expect(await http.get("/v1/jobs")).toMatchObject({
    status: 403,
    error: { message: "no such token" },
  });
});

test("changes name their principals", async () => {
  await submit();
  identify = () => ({ kind: "network", address: "10.0.0.5" });
  await http.send("POST", "/v1/jobs?allowUnsatisfiable=true", { command: ["true"] });
  const { jobs: listed } = await plane.operations.listJobs({}, {});
  expect(listed.map(({ submittedBy }) => submittedBy)).toEqual(["address:10.0.0.5", "local"]);
});

test("a caller is identified by its address, whatever its headers contain", () => {
  const headers = { authorization: "Bearer admin", "x-user": "root", "x-forwarded-for": "::1" };
  const cases: readonly [string | undefined, Principal][] = [
    ["127.0.0.1", LOCAL],
    ["127.8.8.8", LOCAL],
    ["::1", LOCAL],
    ["10.0.0.5", { kind: "network", address: "10.0.0.5" }],
    ["fe80::1", { kind: "network", address: "fe80::1" }],
    [undefined, { kind: "network", address: "unknown" }],
  ];
  for (const [address, principal] of cases) {
    expect(byAddress({ address, headers })).toEqual(principal);
  }
});
