import { expect, test } from "vitest";
import { likeRiklet, until, useRikBeds } from "../testing/rik-bed.ts";
import { type Ask, json, useRikRest } from "../testing/rik-rest.ts";

const open = useRikBeds();
const serve = useRikRest();

/** Creates a Function; returns its id. */
async function createFunction(ask: Ask, name: string, port?: number): Promise<string> {
  const exposure = port === undefined ? {} : { exposure: exposureAt(port) };
  const spec = { function: { execution: { rootfs: "http://x/y" }, ...exposure } };
  const definition = { apiVersion: "v1", kind: "Function", name, spec };
  return (json(await ask("POST", "workloads.create", definition)) as { id: string }).id;
}

const exposureAt = (port: number): object => ({ port, targetPort: 8080, type: "NodePort" });

interface ShownFunction {
  readonly id: string;
  readonly value: {
    readonly status: string;
    readonly reason?: string;
    readonly spec: { readonly function: { readonly exposure: { readonly port: number } } };
  };
}

const shown = async (ask: Ask): Promise<(string | number)[][]> =>
  (json(await ask("GET", "instances.list")) as ShownFunction[]).map(({ id, value }) => [
    id,
    value.status,
    value.spec.function.exposure.port,
  ]);

test("a function whose first port is taken gets the next one; one that insists on a taken port is pending until it is free", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const worker = await bed.readyWorker("node-a", likeRiklet);
  const fixed = await createFunction(ask, "fixed", 45_002);
  const free = await createFunction(ask, "free");
  const add = (workload_id: string, name: string) =>
    ask("POST", "instances.create", { workload_id, name });
  await add(fixed, "a"); // job 1
  await add(free, "b"); // job 2: its first choice would be 45002
  const both = [
    ["a", "Running", 45_002],
    ["b", "Running", 45_003],
  ];
  await until(async () => expect(await shown(ask)).toEqual(both));
  const order = worker.orders.find(({ instanceId }) => instanceId === "b");
  expect(order?.definition).toContain('"port":45003');
  await add(fixed, "c");
  // The planner does not know ports that the worker's agent chose.
  await add(await createFunction(ask, "late", 45_003), "d");
  await until(async () => {
    const list = json(await ask("GET", "instances.list")) as ShownFunction[];
    const pending = list.slice(2).map(({ id, value }) => [id, value.status, value.reason ?? ""]);
    const taken = expect.stringContaining("port 45003 is used") as string;
    expect(pending).toEqual([
      ["c", "Pending", "no node has enough free capacity and port 45002 free now"],
      ["d", "Pending", taken],
    ]);
  });
  for (const id of ["a", "b"]) await ask("POST", "instances.delete", { id });
  await until(async () => {
    bed.clock.advance(1_000);
    const list = await shown(ask);
    expect(list).toContainEqual(["c", "Running", 45_002]);
    expect(list).toContainEqual(["d", "Running", 45_003]);
  });
});

test("an instance of a controller has its kind and spec, also after a restart of the server", async () => {
  const bed = await open();
  const controller = await bed.controller();
  const call = { execution: { rootfs: "http://x/y" }, exposure: null };
  const spec = { containers: [], function: call };
  await controller.schedule(
    "f",
    JSON.stringify({ apiVersion: "v1", kind: "Function", name: "f", spec }),
  );
  await bed.restart();
  const [shown] = json(await (await serve(bed))("GET", "instances.list")) as { value: object }[];
  const { execution } = call;
  expect(shown?.value).toMatchObject({
    id: "f",
    kind: "Function",
    spec: { function: { execution } },
  });
});
