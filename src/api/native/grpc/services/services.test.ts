import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { Busbar, State } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { call, failure } from "../../../grpc/testing/grpc-client.ts";
import { createFakeOperations } from "../../testing/fake-operations.ts";
import { aService, anInstance } from "../../testing/fake-services.ts";
import { serveNativeDoors } from "../../testing/native-doors.ts";

const operations = createFakeOperations({});
const { client, http } = await serveNativeDoors(operations);

const { method } = Busbar;
const last = () => operations.last();

test("over gRPC services are applied, scaled, rolled back and removed", async () => {
  const applied = await call(client, method.applyService, {
    name: "web",
    template: { command: ["serve"], service: { restart: "on-failure", backoffMs: 5n } },
    replicas: 0,
    rollout: { minReadyMs: 7n },
    ifRevision: 0n,
  });
  expect(applied).toMatchObject({ name: "web", replicas: 0, state: "rolling", createdAtMs: 5n });
  expect(applied.rollout).toMatchObject({ maxUnavailable: 1, minReadyMs: 5_000n, failuresMax: 3 });
  expect(last()?.args).toEqual([
    {
      name: "web",
      template: { command: ["serve"], service: { restart: "on-failure", backoffMs: 5 } },
      replicas: 0,
      rollout: { maxUnavailable: undefined, minReadyMs: 7, failuresMax: undefined },
      ifRevision: 0,
    },
  ]);
  const scaled = await call(client, method.scaleService, { name: "web", replicas: 9 });
  expect(scaled.replicas).toBe(9);
  const rolled = await call(client, method.rollbackService, { name: "web", generation: 1 });
  expect(rolled).toMatchObject({ generation: 1, former: [1] });
  expect((await call(client, method.getService, { name: "web" })).running).toBe(2);
  expect((await call(client, method.listServices)).services).toHaveLength(1);
  const removed = await call(client, method.removeService, { name: "web", reason: "old" });
  expect(removed).toMatchObject({ state: "removing", reason: "old" });
  const missing = await failure(call(client, method.getService, { name: "none" }));
  expect(missing).toMatchObject({ code: status.NOT_FOUND });
  const huge = { name: "web", rollout: { minReadyMs: 2n ** 60n } };
  expect(await failure(call(client, method.applyService, huge))).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining("rollout.minReadyMs") as unknown,
  });
});

test("over gRPC instances are listed, shown, added and removed", async () => {
  const page = await call(client, method.listInstances, { service: "web", pageSize: 1 });
  expect(page).toMatchObject({ nextPageToken: "more", revision: 7n });
  expect(page.instances[0]).toMatchObject({
    name: "web-1",
    state: State.WAITING,
    restarts: 4,
    wantedGeneration: 2,
    reason: "restarts: exited with code 1, 4th time",
  });
  const one = await call(client, method.getInstance, { service: "web", name: "blue" });
  expect(one).toMatchObject({ service: "web", name: "blue", jobId: "1" });
  const added = await call(client, method.addInstances, { service: "web", names: ["a", "b"] });
  expect(added.instances.map(({ name, named }) => [name, named])).toEqual([
    ["a", true],
    ["b", true],
  ]);
  await call(client, method.removeInstances, { service: "web", names: ["a"], reason: "r" });
  expect(last()).toMatchObject({ name: "removeInstances", args: ["web", ["a"], "r"] });
});

test("REST shows the same, and accepts a template like a job", async () => {
  const body = { template: { command: ["serve"], resources: { memory: "1KiB" } }, replicas: 2 };
  const put = await http.send("PUT", "/v1/services/api", body);
  expect(put).toMatchObject({ status: 200, json: { name: "api", replicas: 2 } });
  expect(last()?.args[0]).toMatchObject({
    name: "api",
    replicas: 2,
    template: { command: ["serve"], resources: { memory: 1_024 } },
  });
  expect((await http.get("/v1/services/api")).json).toEqual(aService({ name: "api", replicas: 2 }));
  const wrong = await http.send("PUT", "/v1/services/api", {
    template: { command: ["x"], nice: "much" },
  });
  expect(wrong).toMatchObject({ status: 400, json: { error: { field: "template.nice" } } });
  await http.send("POST", "/v1/services/api/scale", { replicas: 5, ifRevision: 7 });
  expect(last()).toMatchObject({ name: "scaleService", args: ["api", 5, { ifRevision: 7 }] });
  await http.send("POST", "/v1/services/api/rollback", { generation: 3 });
  expect(last()).toMatchObject({ name: "rollbackService", args: ["api", { generation: 3 }] });
  const removed = await http.send("DELETE", "/v1/services/api?reason=old&ifRevision=7");
  expect(removed).toMatchObject({ status: 200, json: { state: "removing", reason: "old" } });
  expect((await http.get("/v1/services?pageSize=2")).json).toMatchObject({ revision: 7 });
});

test("REST shows, adds and removes instances", async () => {
  const at = "/v1/services/web/instances";
  const shown = anInstance({ name: "blue" });
  expect((await http.get(`${at}/blue`)).json).toEqual(shown);
  expect((await http.get(at)).json).toMatchObject({ instances: [{ name: "web-1" }] });
  const added = await http.send("POST", at, { names: ["blue"] });
  expect(added.json).toMatchObject({ instances: [{ name: "blue", named: true }] });
  await http.send("DELETE", `${at}/blue?reason=old`);
  expect(last()).toMatchObject({ name: "removeInstances", args: ["web", ["blue"], "old"] });
  expect((await http.send("POST", at, {})).status).toBe(400);
});
