import { expect, test } from "vitest";
import { ResourceStatus, WorkloadRequestKind } from "../../../gen/rik/v1/common_pb.ts";
import type { InstanceScheduling } from "../../../gen/rik/v1/worker_pb.ts";
import { likeRiklet, POD, type RikBed, until, useRikBeds } from "../testing/rik-bed.ts";
import { type Ask, instances, json, pod, useRikRest, workload } from "../testing/rik-rest.ts";
import { toSubmission } from "../translate.ts";

const open = useRikBeds();
const serve = useRikRest();

/** Like riklet, except for images that cannot start. */
const unlessBad = (order: InstanceScheduling): ResourceStatus[] =>
  order.action === WorkloadRequestKind.CREATE && order.definition.includes("bad:")
    ? [ResourceStatus.CREATING, ResourceStatus.FAILED]
    : likeRiklet(order);

interface Status {
  readonly service: string;
  readonly generation: number;
  readonly state: string;
  readonly reason?: string;
  readonly instances: number;
  readonly running: number;
  readonly updated: number;
  readonly former: readonly number[];
}

const statusOf = async (ask: Ask, id: string): Promise<Status> =>
  json(await ask("GET", `workloads.status/${id}`)) as Status;

const images = async (ask: Ask): Promise<string[]> =>
  (await instances(ask))
    .filter(({ value }) => value.status === "Running")
    .map(({ value }) => value.spec.containers[0]?.image ?? "")
    .sort();

/** A worker, and a workload whose instances of these names run there. */
async function running(bed: RikBed, ask: Ask, ...names: string[]) {
  const worker = await bed.readyWorker("node-a", unlessBad);
  const id = await workload(ask);
  for (const name of names) await ask("POST", "instances.create", { workload_id: id, name });
  await until(async () => expect(await images(ask)).toEqual(names.map(() => "alpine:latest")));
  const update = (image: string, more: object = {}) =>
    ask("POST", "workloads.update", { id, value: pod("web", image), ...more });
  return { worker, id, update };
}

test("another definition replaces instances one by one, and the status shows the progress", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const { worker, id, update } = await running(bed, ask, "a", "b", "c");
  const before = worker.orders.length;
  const updated = await update("alpine:3");
  expect(updated.status).toBe(200);
  expect(json(updated)).toMatchObject({ id, name: "web", generation: 2, state: "rolling" });
  for (const count of [1, 2, 3]) {
    // The next one is not touched before this one has been running for five seconds.
    await until(async () =>
      expect(await statusOf(ask, id)).toMatchObject({ updated: count, running: 3, instances: 3 }),
    );
    expect((await images(ask)).filter((image) => image === "alpine:3").length).toBe(count);
    bed.clock.advance(5_000);
  }
  await until(async () => expect(await statusOf(ask, id)).toMatchObject({ state: "done" }));
  expect((await instances(ask)).map((one) => one.id).sort()).toEqual(["a", "b", "c"]);
  const orders = worker.orders.slice(before).map(({ action }) => action);
  expect(orders).toEqual([1, 0, 1, 0, 1, 0]);
  const [listed] = json(await ask("GET", "workloads.list")) as { value: object }[];
  expect(listed?.value).toMatchObject({ spec: { containers: [{ image: "alpine:3" }] } });
  // The same definition again changes nothing.
  expect(json(await update("alpine:3"))).toMatchObject({ generation: 2, state: "done" });
});

test("a rollout whose instances fail stops with a reason; rollback restores the replaced instances", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const { worker, id, update } = await running(bed, ask, "a", "b", "c");
  await update("bad:1");
  const stopped = {
    state: "stopped",
    generation: 2,
    updated: 1,
    running: 2,
    reason: expect.stringMatching(/^[abc] of generation 2 failed: .*see the log of the worker/),
  };
  await until(async () => expect(await statusOf(ask, id)).toMatchObject(stopped));
  expect(await images(ask)).toEqual(["alpine:latest", "alpine:latest"]);
  const failed = (await instances(ask)).find(({ value }) => value.status === "Failed");
  expect(failed?.value.reason).toContain("see the log of the worker");
  // `explain` of its job says the same.
  const { operations } = bed.plane;
  const { service } = await statusOf(ask, id);
  const { jobId } = await operations.getInstance(service, failed?.id ?? "");
  expect((await operations.explainJob(jobId)).summary).toContain("see the log of the worker");
  const before = worker.orders.length;
  expect(json(await ask("POST", "workloads.rollback", { id }))).toMatchObject({ generation: 1 });
  await until(async () => {
    bed.clock.advance(1_000);
    expect(await statusOf(ask, id)).toMatchObject({ state: "done", running: 3, former: [2] });
  });
  expect(await images(ask)).toEqual(["alpine:latest", "alpine:latest", "alpine:latest"]);
  // Only the one that was replaced.
  expect(worker.orders.slice(before).map(({ instanceId }) => instanceId)).toEqual([failed?.id]);
});

test("an invalid update or rollback is rejected, and changes nothing", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const { id, update } = await running(bed, ask, "a");
  const post = (route: string, body: object) => ask("POST", route, body);
  const refused = async (got: ReturnType<Ask>, status: number, text: string): Promise<void> => {
    expect(await got).toMatchObject({ status, type: "text/plain; charset=utf-8" });
    expect((await got).text).toContain(text);
  };
  await refused(post("workloads.update", { id: "x" }), 404, "Workload id x not found");
  await refused(post("workloads.update", { id }), 400, "missing field `value`");
  await refused(post("workloads.update", { id, value: 1, definition: 2 }), 400, "not both");
  await refused(post("workloads.update", { id, value: pod("other") }), 400, "keeps its name, web");
  await refused(update("untagged"), 400, "spec.containers[0].image");
  await refused(update("a:1", { min_ready_ms: "x" }), 400, "min_ready_ms: must be a whole number");
  await refused(update("a:1", { max_unavailable: 0 }), 400, "max_unavailable");
  await refused(post("workloads.rollback", { id }), 409, "no former template");
  await refused(ask("GET", "workloads.status/x"), 404, "Workload id x not found");
  expect(await statusOf(ask, id)).toMatchObject({ generation: 1, state: "done", running: 1 });
});

test("a text is a definition too, and a rollout uses the given terms", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const { id } = await running(bed, ask, "a", "b");
  const definition = JSON.stringify(pod("web", "alpine:3"));
  await ask("POST", "workloads.update", { id, definition, max_unavailable: 2, min_ready_ms: 0 });
  await until(async () => expect(await statusOf(ask, id)).toMatchObject({ state: "done" }));
  expect(await images(ask)).toEqual(["alpine:3", "alpine:3"]);
});

test("the list shows requested amounts, so that an update with a value from it keeps them", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const requests = (amounts: object) => ({ resources: { requests: amounts } });
  const main = { name: "main", image: "alpine:1", ...requests({ cpu: "500m" }) };
  const spec = {
    containers: [{ name: "side", image: "side:1" }, main],
    ...requests({ disk: "1Gi" }),
  };
  const definition = { apiVersion: "v1", kind: "Pod", name: "web", spec };
  const { id } = json(await ask("POST", "workloads.create", definition)) as { id: string };
  const [listed] = json(await ask("GET", "workloads.list")) as [{ value: { spec: object } }];
  expect(listed.value.spec).toEqual({
    containers: [
      { name: "side", image: "side:1", env: null, ports: null },
      { ...main, env: null, ports: null },
    ],
    function: null,
    ...requests({ disk: "1Gi" }),
  });
  await ask("POST", "workloads.update", { id, value: listed.value });
  const [service] = (await bed.plane.operations.listServices({})).services;
  expect(service?.template.resources).toEqual({ cpu: 0.5, disk: 2 ** 30, instances: 1 });
});

test("a workload is a service: scaled, cancelled and removed by Busbar's own commands", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const { id } = await running(bed, ask, "a", "b");
  const { operations } = bed.plane;
  const { service } = await statusOf(ask, id);
  expect(service).toBe(`web-${id.slice(0, 8)}`);
  const names = async (): Promise<string[]> => (await instances(ask)).map((one) => one.id).sort();
  await operations.scaleService(service, 1);
  await until(async () => expect(await names()).toEqual(["a", "b", `${service}-1`]));
  expect((await ask("POST", "instances.delete", { id: `${service}-1` })).status).toBe(409);
  expect((await ask("POST", "workloads.scale", { id, replicas: 0 })).status).toBe(409);
  await operations.scaleService(service, 0);
  const { jobId } = await operations.getInstance(service, "b");
  await operations.cancelJob(jobId, "by hand");
  await until(async () => expect(await names()).toEqual(["a"]));
  await operations.removeService(service, "");
  await until(async () => expect(await names()).toEqual([]));
  expect(json(await ask("GET", "workloads.list"))).toEqual([]);
});

test("failed instances are removed with their workload, or alone, and stay removed after a restart", async () => {
  const bed = await open();
  let ask = await serve(bed);
  await bed.readyWorker("node-a", unlessBad);
  const id = await workload(ask, "web", "bad:1");
  const create = (name: string) => ask("POST", "instances.create", { workload_id: id, name });
  for (const name of ["a", "b", "c"]) await create(name);
  const states = async (): Promise<string[]> =>
    (await instances(ask)).map((one) => `${one.id} ${one.value.status}`).sort();
  await until(async () => expect(await states()).toEqual(["a Failed", "b Failed", "c Failed"]));
  expect(await create("a")).toMatchObject({ status: 404, text: "Name already used" });
  expect((await ask("POST", "instances.delete", { id: "a" })).status).toBe(204);
  expect(await states()).toEqual(["b Failed", "c Failed"]);
  // The next job of a slot replaces a failed one; after a destroy nothing comes back.
  await ask("POST", "workloads.update", { id, value: pod("web", "alpine:3"), min_ready_ms: 0 });
  await until(async () => expect(await states()).toEqual(["b Running", "c Running"]));
  await ask("POST", "instances.delete", { id: "b" });
  await until(async () => expect(await states()).toEqual(["c Running"]));
  await bed.restart();
  ask = await serve(bed);
  expect((await instances(ask)).map((one) => one.id)).toEqual(["c"]);
  const [shown] = await instances(ask);
  expect(shown?.value.spec.containers[0]?.image).toBe("alpine:3");
  expect((await ask("POST", "workloads.delete", { id })).status).toBe(204);
  expect(json(await ask("GET", "workloads.list"))).toEqual([]);
  await bed.readyWorker("node-a", unlessBad);
  await until(async () => expect(await states()).toEqual([]));
  expect((await bed.plane.operations.listServices({})).services).toEqual([]);
});

test("a workload is deleted with its instances when all of them have ended before", async () => {
  const bed = await open();
  const ask = await serve(bed);
  await bed.readyWorker("node-a", unlessBad);
  const id = await workload(ask, "web", "bad:1");
  await ask("POST", "instances.create", { workload_id: id, replicas: 2 });
  const states = async (): Promise<string[]> =>
    (await instances(ask)).map((one) => one.value.status);
  await until(async () => expect(await states()).toEqual(["Failed", "Failed"]));
  expect((await ask("POST", "workloads.delete", { id })).status).toBe(204);
  await until(async () => expect(await states()).toEqual([]));
});

test("workloads that an earlier version stored as records become services with their instances", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a", unlessBad);
  const id = "0b8f8f43-6b1c-4f4f-9a53-2f6a8c3ad001";
  const { operations } = bed.plane;
  // As that version wrote them.
  const record = { id, owner: "rest", kind: "Pod", name: "web", definition: POD };
  await operations.putDoorRecords([{ id: `rik/workload/${id}`, text: JSON.stringify(record) }]);
  const bad = POD.replace("alpine:latest", "bad:1");
  const rik = operations.as({ kind: "rik" });
  for (const [name, definition] of [
    ["one", POD],
    ["two words", POD],
    ["bad", bad],
  ] as const) {
    const input = { controller: "rest", workloadId: id, id: name, definition };
    await rik.submitJobs([toSubmission(input)], { allowUnsatisfiable: true });
  }
  await until(async () => expect((await operations.getJob("3")).state).toBe("failed"));
  await until(() => expect(worker.orders.length).toBe(3));
  await bed.restart();
  const ask = await serve(bed);
  await bed.readyWorker("node-a", unlessBad);
  expect(json(await ask("GET", "workloads.list"))).toMatchObject([{ id, name: "web" }]);
  const states = async (): Promise<string[]> =>
    (await instances(ask)).map((one) => `${one.id} ${one.value.status}`).sort();
  await until(async () =>
    expect(await states()).toEqual(["bad Failed", "one Running", "two words Running"]),
  );
  const { service } = await statusOf(ask, id);
  const after = bed.plane.operations;
  expect(await after.getInstance(service, "one")).toMatchObject({ state: "running", named: true });
  await until(async () => expect((await after.getJob("1")).state).toBe("cancelled"));
  const records = await after.listDoorRecords("rik");
  expect(records.filter((one) => one.id.startsWith("rik/workload/"))).toEqual([]);
  // A second start finds nothing to do.
  await bed.restart();
  const again = await serve(bed);
  expect((await instances(again)).map((one) => one.id).sort()).toEqual(["bad", "one", "two words"]);
  expect((await again("POST", "workloads.delete", { id })).status).toBe(204);
  await bed.readyWorker("node-a", unlessBad);
  await until(async () => expect(await instances(again)).toEqual([]));
});
