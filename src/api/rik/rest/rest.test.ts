import { expect, test } from "vitest";
import { likeRiklet, metricsOf, POD, until, useRikBeds } from "../testing/rik-bed.ts";
import { type Got, instances, json, pod, useRikRest, workload } from "../testing/rik-rest.ts";

const open = useRikBeds();
const serve = useRikRest();

test("workloads are created, listed in rik's shape, and deleted with their instances", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const worker = await bed.readyWorker("node-a");
  const created = await ask("POST", "workloads.create", pod("web"));
  expect(created).toMatchObject({ status: 200, type: "application/json" });
  const { id } = json(created) as { id: string };
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(json(await ask("GET", "workloads.list"))).toEqual([
    {
      id,
      name: "web",
      value: {
        apiVersion: "v1",
        kind: "Pod",
        name: "web",
        spec: {
          containers: [{ name: "main", image: "alpine:latest", env: null, ports: null }],
          function: null,
        },
        replicas: 1,
      },
    },
  ]);
  expect(await ask("POST", "workloads.create", pod("web"))).toMatchObject({
    status: 404,
    type: "text/plain; charset=utf-8",
    text: "Name already used",
  });
  expect((await ask("POST", "workloads.create", pod("we"))).status).toBe(200);
  expect(await ask("GET", `workloads.instances/${id}`)).toMatchObject({ status: 204, text: "" });
  const made = await ask("POST", "instances.create", { workload_id: id, replicas: 3 });
  expect(made.status).toBe(201);
  const names = json(made) as string[];
  expect(names.length).toBe(3);
  expect(names[0]).toMatch(/^[a-z]+-[a-z]+-\d{4}$/);
  await until(() => expect(worker.orders.length).toBe(3));
  await until(async () => {
    const { instances } = json(await ask("GET", `workloads.instances/${id}`)) as {
      instances: { status: string }[];
    };
    expect(instances.map(({ status }) => status)).toEqual(["Running", "Running", "Running"]);
  });
  expect((await ask("POST", "workloads.delete", { id })).status).toBe(204);
  await until(() => expect(worker.orders.length).toBe(6));
  await until(async () => expect(json(await ask("GET", "instances.list"))).toEqual([]));
  expect(await ask("POST", "workloads.delete", { id })).toMatchObject({
    status: 404,
    text: `Workload id ${id} not found`,
  });
});

test("an instance that its worker has not started yet shows that worker, also after a restart", async () => {
  const bed = await open();
  let ask = await serve(bed);
  await bed.readyWorker("node-a", () => []);
  const id = await workload(ask);
  await ask("POST", "instances.create", { workload_id: id, replicas: 3 });
  const shown = async (): Promise<unknown> =>
    (await instances(ask)).map(({ value }) => `${value.status} ${value.node}`);
  const creating = ["Creating rik-node-a", "Creating rik-node-a", "Creating rik-node-a"];
  await until(async () => expect(await shown()).toEqual(creating));
  await bed.restart();
  ask = await serve(bed);
  expect(await shown()).toEqual(creating);
});

test("instances have rik's shape and codes, wherever they are", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  const create = (body: object) => ask("POST", "instances.create", { workload_id: id, ...body });
  expect(await create({ name: "one" })).toMatchObject({ status: 201, text: '["one"]' });
  expect(await create({ replicas: 0 })).toMatchObject({ status: 201, text: "[]" });
  expect(await create({ name: "on" })).toMatchObject({ status: 201 });
  expect(await create({ name: "one" })).toMatchObject({ status: 404, text: "Name already used" });
  expect(await create({ name: "x", replicas: 2 })).toMatchObject({
    status: 400,
    text: "Cannot use name with multiple replicas",
  });
  expect(await ask("POST", "instances.create", { workload_id: "x' OR '1'='1" })).toMatchObject({
    status: 404,
    text: "Workload id x' OR '1'='1 not found",
  });
  expect(await ask("POST", "instances.create", {})).toMatchObject({
    status: 400,
    text: "missing field `workload_id`",
  });
  const [one] = json(await ask("GET", "instances.list")) as { id: string; name: string }[];
  expect(one).toEqual({
    id: "one",
    name: "one",
    value: {
      workload_id: id,
      namespace: "default",
      id: "one",
      kind: "Pod",
      status: "Pending",
      spec: {
        containers: [{ name: "main", image: "alpine:latest", env: null, ports: null }],
        function: null,
      },
      reason: "no node has joined yet",
    },
  });
  expect((await ask("POST", "instances.delete", { id: "one" })).status).toBe(204);
  await until(async () =>
    expect((json(await ask("GET", "instances.list")) as object[]).length).toBe(1),
  );
  expect(await ask("POST", "instances.delete", { id: "one" })).toMatchObject({
    status: 404,
    text: "Instance id one not found",
  });
});

test("definitions that would crash workers are rejected as plain text", async () => {
  const ask = await serve(await open());
  const untagged = POD.replace("alpine:latest", "alpine");
  const refused = await ask("POST", "workloads.create", untagged);
  expect(refused).toMatchObject({ status: 400, type: "text/plain; charset=utf-8" });
  expect(refused.text).toContain("spec.containers[0].image");
  expect((await ask("POST", "workloads.create", "{")).status).toBe(400);
  expect((await ask("POST", "workloads.create", "[]")).status).toBe(400);
});

test("tenants are stored; they have any name, and a value that is JSON", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const tenant = { id: "mine", name: "/tenant/acme", value: '{"a":1}' };
  const made = await ask("POST", "tenants.create", tenant);
  expect([made.status, json(made)]).toEqual([200, tenant]);
  expect((await ask("POST", "tenants.create", { ...tenant, value: "{" })).status).toBe(400);
  expect((await ask("POST", "tenants.create", { name: "x" })).text).toBe("missing field `id`");
  const [kept] = json(await ask("GET", "tenants.list")) as { id: string }[];
  expect(kept).toEqual({ id: expect.any(String), name: "acme", value: { a: 1 } });
  const id = kept?.id ?? "";
  expect((await ask("POST", "tenants.delete", { id })).status).toBe(204);
  expect((await ask("POST", "tenants.delete", { id })).text).toBe(`Tenant id ${id} not found`);
});

test("paths with an extra slash are served, other paths do not exist", async () => {
  const ask = await serve(await open());
  expect((await ask("GET", "//api/v0/workloads.list")).text).toBe("[]");
  for (const [method, path] of [
    ["GET", "/"],
    ["GET", "/api/v0/nothing.here"],
    ["DELETE", "/api/v0/workloads.list"],
    ["POST", "/api/v0/workloads.list"],
  ] as const) {
    expect(await ask(method, path)).toMatchObject({ status: 404, text: "" });
  }
});

test("a workload is scaled, and workers show their history", async () => {
  const bed = await open();
  const ask = await serve(bed);
  await bed.readyWorker("node-a", likeRiklet, metricsOf(2));
  const id = await workload(ask);
  const scale = async (replicas: number): Promise<object> =>
    json(await ask("POST", "workloads.scale", { id, replicas })) as object;
  expect(await scale(3)).toMatchObject({ created: { length: 3 }, deleted: [] });
  await until(async () => {
    const list = json(await ask("GET", "instances.list")) as { value: { status: string } }[];
    expect(list.map(({ value }) => value.status)).toEqual(["Running", "Running", "Running"]);
  });
  expect(await scale(1)).toMatchObject({ created: [], deleted: { length: 2 } });
  await until(async () =>
    expect((json(await ask("GET", "instances.list")) as object[]).length).toBe(1),
  );
  expect(json(await ask("GET", "workers.list"))).toMatchObject([
    { id: "node-a", value: { node: "rik-node-a", status: "Running", history: [{ cpus: 2 }] } },
  ]);
});

test("with a secret, users send a name and a token, and see their own workloads", async () => {
  const bed = await open({ secret: "a-long-secret" });
  const ask = await serve(bed);
  const basic = (user: string): string => `Basic ${Buffer.from(user).toString("base64")}`;
  expect((await ask("GET", "workloads.list")).status).toBe(401);
  expect((await ask("GET", "workloads.list", undefined, basic("web:wrong"))).status).toBe(401);
  const admin = basic("ops:a-long-secret");
  const made = await ask("POST", "tokens.create", { role: "controller", name: "web" }, admin);
  const { token } = json(made) as { token: string };
  for (const name of ["", "a b", "../x", "rest", "anybody", "others", "x".repeat(64)]) {
    const refused = await ask("POST", "tokens.create", { role: "controller", name }, admin);
    expect([name, refused.status]).toEqual([name, 400]); // no caller could use it
  }
  const web = basic(`web:${token}`);
  expect((await ask("POST", "workloads.create", pod("web"), web)).status).toBe(200);
  expect((json(await ask("GET", "workloads.list", undefined, web)) as object[]).length).toBe(1);
  expect(json(await ask("GET", "workloads.list", undefined, admin))).toEqual([]);
  expect((await ask("GET", "workloads.list", undefined, basic(`other:${token}`))).status).toBe(401);
});

test("workloads, tenants and instances exist after a restart", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  await ask("POST", "instances.create", { workload_id: id, name: "one" });
  await ask("POST", "instances.create", { workload_id: id, name: "two" });
  await ask("POST", "instances.delete", { id: "two" });
  await bed.restart();
  const again = await serve(bed);
  const ids = (got: Got): string[] => (json(got) as { id: string }[]).map((one) => one.id);
  expect(ids(await again("GET", "workloads.list"))).toEqual([id]);
  expect(ids(await again("GET", "instances.list"))).toEqual(["one"]);
});

test("a pending instance shows why it is not placed, and no longer once it runs", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  await ask("POST", "instances.create", { workload_id: id, name: "a" });
  const controller = await bed.controller();
  await controller.schedule("b");
  const reasons = async () => (await instances(ask)).map(({ value }) => value.reason);
  await until(async () =>
    expect(await reasons()).toEqual(["no node has joined yet", "no node has joined yet"]),
  );
  const { instances: own } = json(await ask("GET", `workloads.instances/${id}`)) as {
    instances: object[];
  };
  expect(own).toMatchObject([{ status: "Pending", reason: "no node has joined yet" }]);
  await bed.readyWorker("node-a");
  await until(async () => {
    const shown = await instances(ask);
    expect(shown.map(({ value }) => value.status)).toEqual(["Running", "Running"]);
    expect(await reasons()).toEqual([undefined, undefined]);
  });
});
