import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { limits } from "../../../limits.ts";
import { likeRiklet, metricsOf, until, useRikBeds } from "../testing/rik-bed.ts";
import { instances, json, pod, useRikRest, workload } from "../testing/rik-rest.ts";

const open = useRikBeds();
const serve = useRikRest();

test("a path that is not encoded as paths are is refused, and is no fault of the server", async () => {
  const ask = await serve(await open());
  for (const path of ["workloads.instances/%zz", "workloads.status/%ff"]) {
    const refused = await ask("GET", path);
    expect([path, refused.status, refused.text]).toEqual([path, 400, expect.stringContaining("%")]);
  }
});

test("a body that is too large is refused with a text, and its connection goes on", async () => {
  const ask = await serve(await open());
  const large = "x".repeat(5 * limits.rikBodyBytesMax);
  const refused = await ask("POST", "workloads.create", large);
  expect([refused.status, refused.text]).toEqual([413, expect.stringContaining("at most")]);
  expect((await ask("POST", "workloads.create", pod("web"))).status).toBe(200);
});

test("a deeply nested body is refused before it is parsed", async () => {
  const ask = await serve(await open());
  const levels = limits.rikBodyBytesMax / 2 - 1;
  const refused = await ask("POST", "workloads.create", "[".repeat(levels) + "]".repeat(levels));
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("levels deep")]);
});

test("a body that is not UTF-8 is refused: another definition would be stored than was sent", async () => {
  const ask = await serve(await open());
  const latin1 = Buffer.from(JSON.stringify(pod("café")), "latin1");
  const refused = await ask("POST", "workloads.create", latin1);
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("UTF-8")]);
});

test("a refusal names the field as the caller wrote it", async () => {
  const ask = await serve(await open());
  const id = await workload(ask);
  const env = [{ name: "A", value: "x".repeat(300_000) }];
  const large = { ...pod("large"), spec: { containers: [{ name: "a", image: "a:1", env }] } };
  const cases: [route: string, body: object | string, text: RegExp][] = [
    ["instances.create", "", /^the body is empty; send a JSON object$/],
    ["instances.create", "{", /^the body cannot be read as JSON: Expected/],
    ["instances.create", "[]", /^the body must be a JSON object$/],
    ["workloads.update", { id, definition: "{" }, /^definition cannot be read as JSON: Expected/],
    ["workloads.update", { id, value: 5 }, /^value must be a JSON object$/],
    ["instances.create", { workload_id: id, name: "a%b" }, /^name: "a%b" is not a name/],
    ["workloads.create", large, /^definition: has \d+ characters; at most/],
    ["workloads.update", { id, value: pod("web"), max_unavailable: 0 }, /^max_unavailable: must/],
  ];
  for (const [route, body, text] of cases) {
    const refused = await ask("POST", route, body);
    expect([route, refused.status, refused.text]).toEqual([
      route,
      400,
      expect.stringMatching(text),
    ]);
  }
});

test("instances that are being destroyed do not count when a workload is scaled", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  // Never acknowledges that it destroyed one.
  const silent = (order: Parameters<typeof likeRiklet>[0]) =>
    order.action === 0 ? likeRiklet(order) : [];
  await bed.readyWorker("node-a", silent, metricsOf(2));
  const scale = async (replicas: number): Promise<unknown> =>
    json(await ask("POST", "workloads.scale", { id, replicas }));
  const running = async (total: number): Promise<void> =>
    until(async () => {
      const states = (await instances(ask)).map(({ value }) => value.status);
      expect(states.filter((state) => state === "Running").length).toBe(total);
    });
  await scale(5);
  await running(5);
  expect(await scale(2)).toMatchObject({ created: { length: 0 }, deleted: { length: 3 } });
  expect(await scale(4)).toMatchObject({ created: { length: 2 }, deleted: { length: 0 } });
  await running(4);
  expect(await scale(4)).toEqual({ created: [], deleted: [] });
});

test("scaling down deletes the newest instances, also after a restart of the server", async () => {
  const bed = await open();
  let ask = await serve(bed);
  const id = await workload(ask);
  for (const name of ["oldest", "middle", "latest"]) {
    await ask("POST", "instances.create", { workload_id: id, name });
  }
  await bed.restart();
  ask = await serve(bed);
  const scaled = json(await ask("POST", "workloads.scale", { id, replicas: 1 }));
  expect(scaled).toEqual({ created: [], deleted: ["middle", "latest"] });
});

test("a workload is not scaled without a number: null is none", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  await ask("POST", "workloads.scale", { id, replicas: 2 });
  for (const body of [{ id }, { id, replicas: null }]) {
    const refused = { status: 400, text: "missing field `replicas`" };
    expect(await ask("POST", "workloads.scale", body)).toMatchObject(refused);
  }
  expect((await instances(ask)).length).toBe(2);
});

test("a name that a service gives to an instance is its own: a user could not delete the instance", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const id = await workload(ask);
  const { service } = json(await ask("GET", `workloads.status/${id}`)) as { service: string };
  const create = (name: string) => ask("POST", "instances.create", { workload_id: id, name });
  expect(await create(`${service}-7`)).toMatchObject({
    status: 400,
    text: `name: ${service}-7 is a name that the service gives to its instances; choose another`,
  });
  expect((await create(`${service}-x`)).status).toBe(201);
});

test("an instance of a controller with a rejected definition is listed as Failed, with its reason", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const controller = await bed.controller();
  const untagged = JSON.stringify(pod("web", "alpine"));
  for (const [id, definition] of Object.entries({ untagged, broken: "{" })) {
    await controller.schedule(id, definition);
    await controller.until(id, ResourceStatus.FAILED);
  }
  const failed = (id: string, reason: string) => ({
    id,
    value: { status: "Failed", reason: expect.stringContaining(reason) as string },
  });
  expect(await instances(ask)).toMatchObject([
    failed("untagged", '"alpine" has no tag'),
    failed("broken", "JSON"),
  ]);
  const some = json(await ask("GET", "workloads.instances/w1"));
  expect(some).toMatchObject({ instances: [{ id: "untagged" }, { id: "broken" }] });
});
