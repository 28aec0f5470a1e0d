import { expect, test } from "vitest";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { readWatch } from "../../testing/read-watch.ts";
import { usePlanes } from "../../testing/use-planes.ts";

const aPlane = usePlanes();

async function open(disk = new MemoryDisk()) {
  const clock = new FakeClock();
  const { plane } = await aPlane({ store: createMemoryStore(disk), clock });
  return { plane, clock, disk };
}

/** An agent whose runs continue until the server stops them. */
function anAgent(plane: TestPlane, clock: FakeClock, cpu: number) {
  const agent = new FakeAgent(plane);
  let seq = 0;
  agent.onWork = (starts) => {
    for (const { job, index, attempt } of starts) {
      agent.started(++seq, [job, index, attempt], clock.nowMs());
    }
  };
  agent.hello("n1", { capacity: { cpu: cpu * 1_000 } });
  const exit = (job: number, attempt: number, exitCode: number): void =>
    agent.ended(++seq, [job, 0, attempt], {
      cause: EndCause.EXITED,
      exitCode,
      startedAtMs: clock.nowMs(),
      endedAtMs: clock.nowMs(),
    });
  return { agent, exit };
}

const running = (plane: TestPlane, name: string, count: number) =>
  eventually(async () => (await plane.operations.getService(name)).running === count, {
    what: `${count} instances of ${name} run`,
  });

const template = { command: ["serve"] };

test("a service is applied, scaled and removed; its instances are jobs that name it", async () => {
  const { plane, clock } = await open();
  const { exit } = anAgent(plane, clock, 8);
  const { operations } = plane;
  const applied = await operations.applyService({ name: "web", template, replicas: 2 });
  expect(applied).toMatchObject({ name: "web", replicas: 2, generation: 1, state: "done" });
  await running(plane, "web", 2);
  const { instances } = await operations.listInstances("web", {});
  expect(instances.map(({ name, state, node }) => [name, state, node])).toEqual([
    ["web-1", "running", "n1"],
    ["web-2", "running", "n1"],
  ]);
  const job = await operations.getJob(instances[1]?.jobId ?? "");
  expect(job).toMatchObject({
    instance: { service: "web", name: "web-2", generation: 1 },
    spec: { name: "web-2", labels: { "busbar.service": "web" }, service: { restart: "always" } },
  });
  exit(1, 1, 3);
  await eventually(async () => (await operations.getJob("1")).restarts === 1, {
    what: "it waits for its restart",
  });
  expect(await operations.getTask("1")).toMatchObject({
    state: "waiting",
    restarts: 1,
    reason: "restarts: exited with code 3, 1st time",
  });
  expect((await operations.explainJob("1")).summary).toBe(
    "it restarts in 1s: exited with code 3, 1st time",
  );
  const removed = await operations.removeService("web", "");
  expect(removed).toMatchObject({ state: "removing", reason: "service web was removed" });
  exit(2, 1, 143);
  await eventually(async () => (await operations.listServices({})).services.length === 0, {
    what: "the service is gone",
  });
  await expect(operations.getService("web")).rejects.toThrow("there is no service web");
});

test("invalid input is rejected with its field, and changes nothing", async () => {
  const { plane } = await open();
  const { operations } = plane;
  const apply = (more: object) => operations.applyService({ name: "web", template, ...more });
  await expect(operations.applyService({ name: "web" })).rejects.toThrow(
    "template: is missing: there is no service web yet",
  );
  await expect(apply({ name: "a b" })).rejects.toThrow('name: "a b" is not a name');
  await expect(apply({ replicas: -1 })).rejects.toThrow("replicas: must be a whole number");
  await expect(apply({ rollout: { maxUnavailable: 0 } })).rejects.toThrow("rollout.maxUnavailable");
  for (const [field, value] of Object.entries({
    array: "0-3",
    dependsOn: [{ on: ["1"] }],
    retries: { max: 1 },
    queueDeadlineMs: 5,
    energy: { wattSeconds: 5 },
    nice: 99,
  })) {
    await expect(apply({ template: { ...template, [field]: value } })).rejects.toMatchObject({
      field: `template.${field}`,
    });
  }
  const { revision } = await apply({ ifRevision: 0 });
  await expect(apply({ ifRevision: 0 })).rejects.toMatchObject({ code: "conflict", revision });
  await expect(operations.scaleService("web", 3, { ifRevision: 99 })).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(operations.rollbackService("web")).rejects.toThrow("has no former template");
  await expect(operations.addInstances("web", [])).rejects.toThrow("names: must name an instance");
  await expect(operations.addInstances("web", ["a", "a"])).rejects.toThrow("a is named twice");
  await expect(operations.removeInstances("web", ["a"], "")).rejects.toThrow("no instance a");
  expect((await operations.getService("web")).revision).toBe(revision);
});

test("a thousand instances are made between other commands, listed in pages, and survive a restart", async () => {
  const { plane, disk } = await open();
  const { operations } = plane;
  await operations.applyService({ name: "many", template, replicas: 1_000 });
  await operations.addInstances("many", ["blue", "many-7000"]);
  await eventually(async () => (await operations.getService("many")).instances === 1_002, {
    what: "all instances are there",
  });
  const names: string[] = [];
  for (let pageToken: string | undefined; ;) {
    const page = await operations.listInstances("many", { pageSize: 300, pageToken });
    names.push(...page.instances.map(({ name }) => name));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  expect(names).toHaveLength(1_002);
  expect(names.slice(8, 11)).toEqual(["many-9", "many-10", "many-11"]);
  expect(names.slice(-2)).toEqual(["many-7000", "blue"]);
  await plane.close();
  const again = await open(disk);
  expect(await again.plane.operations.getService("many")).toMatchObject({
    instances: 1_002,
    replicas: 1_000,
  });
  await again.plane.operations.removeService("many", "enough");
  await eventually(
    async () => (await again.plane.operations.listServices({})).services.length === 0,
    { what: "all instances have ended" },
  );
  expect((await again.plane.operations.countJobs()).jobs.cancelled).toBe(1_002);
});

test("a watch can request services alone", async () => {
  const { plane } = await open();
  const { operations } = plane;
  const end = new AbortController();
  const { revision } = await operations.listServices({});
  const query = { kinds: ["service" as const], afterRevision: revision };
  await operations.applyService({ name: "web", template, replicas: 1 });
  await operations.scaleService("web", 0);
  await operations.removeService("web", "");
  const seen: string[] = [];
  for await (const event of readWatch(operations, query, end.signal)) {
    const { kind } = event;
    seen.push(kind === "service" ? `${event.service.replicas} ${event.service.state}` : kind);
    if (kind === "removed") end.abort();
  }
  expect(seen).toEqual(["sync", "1 done", "0 done", "removed"]);
});

test("an instance that waits for a node says why", async () => {
  const { plane, clock } = await open();
  const { agent } = anAgent(plane, clock, 2);
  const { operations } = plane;
  const big = { ...template, resources: { cpu: 3 } };
  await operations.applyService({ name: "big", template: big, replicas: 1 });
  await operations.applyService({ name: "web", template, replicas: 3 });
  await running(plane, "web", 2);
  const reasonOf = async (service: string, name: string) => {
    const { state, reason } = await operations.getInstance(service, name);
    return [state, reason];
  };
  expect(await reasonOf("big", "big-1")).toEqual([
    "pending",
    "no registered node or cluster can run this job",
  ]);
  expect(await reasonOf("web", "web-1")).toEqual(["running", undefined]);
  expect(await reasonOf("web", "web-3")).toEqual([
    "pending",
    "no node has enough free capacity now",
  ]);
  agent.hangUp();
  await eventually(async () => (await operations.getNode("n1")).state === "disconnected", {
    what: "its node to be disconnected",
  });
  expect(await reasonOf("web", "web-3")).toEqual([
    "pending",
    "no node accepts tasks now: 1 disconnected",
  ]);
  await operations.removeNode("n1");
  expect(await reasonOf("web", "web-1")).toEqual([
    "waiting",
    "is placed again: lost: its node was removed; no node has joined yet",
  ]);
});
