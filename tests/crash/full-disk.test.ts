import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../src/lib/errors.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { SmallDisk } from "./disk.ts";

const MIB = 1024 ** 2;

let site: Site;
let disk: SmallDisk;

// Site keeps the server's data in "data" and those of agent a1 in "agent-a1".
const isMountable = probe();
const describeOnDisk = isMountable ? describe : describe.skip;
if (!isMountable) process.stderr.write("skipped: mounting a tmpfs is not permitted here\n");

function probe(): boolean {
  const one = new Site();
  const found = SmallDisk.mount(one.path("probe"), MIB);
  found?.unmount();
  void one.close();
  return found !== undefined;
}

function mountAt(name: string, sizeBytes: number): void {
  const mounted = SmallDisk.mount(site.path(name), sizeBytes);
  if (mounted === undefined) throw new Error("the probe could mount");
  disk = mounted;
}

beforeEach(() => {
  site = new Site();
});

afterEach(async () => {
  // First the disk: the directory over it cannot be removed while it is mounted.
  disk?.unmount();
  await site.close();
});

/** Submits one job after another until the server no longer answers; returns the acknowledged ones. */
async function submitUntilRefused(): Promise<string[]> {
  const acknowledged: string[] = [];
  const spec = { command: ["true"], env: { FILLING: "x".repeat(8_000) } };
  for (let count = 0; count < 5_000; count++) {
    const idempotencyKey = `fill-${count}`;
    try {
      const { jobs } = await site.client.submitJobs({ jobs: [{ spec, idempotencyKey }] });
      acknowledged.push(jobs[0]?.id ?? "");
    } catch (error) {
      if (error instanceof AppError && error.code === "unavailable") return acknowledged;
      throw error;
    }
  }
  throw new Error("the disk never became full");
}

describeOnDisk("the server's disk", () => {
  test("full: it stops, says so, and has everything it acknowledged when there is space", async () => {
    mountAt("data", 4 * MIB);
    const server = await site.startServer();
    disk.fill(600 * 1024);
    const acknowledged = await submitUntilRefused();
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(await server.end()).toBe(1);
    expect(server.output).toMatch(/the disk is full; make room, then restart/);
    expect(server.output).toContain(join(disk.path, "busbar.db"));

    disk.fill();
    const second = site.start([
      "server",
      "--data",
      disk.path,
      "--http",
      "127.0.0.1:0",
      "--grpc",
      site.server,
    ]);
    expect(await second.end()).toBe(1);
    expect(second.output).toMatch(/the disk is full; make room, then restart/);

    disk.empty();
    await site.startServer();
    for (const id of acknowledged) expect((await site.client.getJob({ id })).id).toBe(id);
    const { jobs } = await site.client.countJobs({});
    // The last one may be durable though its answer never came.
    expect(Number(jobs["pending"]) - acknowledged.length).toBeOneOf([0, 1]);
  });

  test("full before the first start: a clear refusal", async () => {
    mountAt("data", MIB);
    disk.fill();
    const server = site.start([
      "server",
      "--data",
      disk.path,
      "--http",
      "127.0.0.1:0",
      "--grpc",
      "127.0.0.1:0",
    ]);
    expect(await server.end()).toBe(1);
    expect(server.output).toContain(`the disk of ${disk.path}`);
  });

  test("read-only: a clear refusal, with data and without", async () => {
    mountAt("data", 4 * MIB);
    for (const hasData of [false, true]) {
      disk.setReadOnly(true);
      const server = site.start([
        "server",
        "--data",
        disk.path,
        "--http",
        "127.0.0.1:0",
        "--grpc",
        "127.0.0.1:0",
      ]);
      expect(await server.end()).toBe(1);
      expect(server.output).toContain(`${disk.path} is not writable`);
      disk.setReadOnly(false);
      if (hasData) return;
      const first = await site.startServer();
      await first.end("SIGKILL");
      expect(existsSync(join(disk.path, "busbar.db"))).toBe(true);
    }
  });
});

describeOnDisk("the agent's disk", () => {
  test("full: the agent lives, reports the reason, and works again when there is space", async () => {
    mountAt("agent-a1", 4 * MIB);
    await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "8");
    const submit = async (command: string[], array?: string): Promise<string> => {
      const spec = { command, ...(array !== undefined && { array }) };
      const { jobs } = await site.client.submitJobs({ jobs: [{ spec }] });
      return jobs[0]?.id ?? "";
    };
    const isFull = site.path("is-full");
    const script = `echo >>"${site.path("started")}"; while [ -d "${site.directory}" ] && [ ! -e "${isFull}" ]; do sleep 0.1; done; exit 5`;
    const running = await submit(["sh", "-c", script]);
    await eventually(() => existsSync(site.path("started")), { what: "the task to start" });
    disk.fill();

    // A run that began while there was space keeps its own exit code.
    writeFileSync(isFull, ""); // on another disk
    await site.jobIs(running, "failed");
    expect(await site.json("job", `${running}.0`)).toMatchObject({ exitCode: 5, attempt: 1 });

    // The node accepts nothing while it cannot start processes, and no task fails because of that.
    const many = await submit(["true"], "0-199");
    await site.nodeIs("a1", "unhealthy");
    const { sickness } = await site.client.getNode({ name: "a1" });
    expect(sickness).toMatch(/the disk is full/);
    expect(agent.isOver).toBe(false);

    disk.empty();
    await site.jobIs(many, "succeeded");
    const later = await submit(["true"], "0-9");
    await site.jobIs(later, "succeeded");
  });

  test("full or read-only at start: a clear refusal", async () => {
    mountAt("agent-a1", MIB);
    const start = async (): Promise<string> => {
      const agent = site.start([
        "agent",
        "--server",
        "127.0.0.1:1",
        "--name",
        "a1",
        "--data",
        disk.path,
      ]);
      expect(await agent.end()).toBe(1);
      return agent.output;
    };
    disk.fill();
    expect(await start()).toContain(`cannot use the agent's data directory ${disk.path}`);
    disk.empty();
    disk.setReadOnly(true);
    expect(await start()).toContain(`cannot use the agent's data directory ${disk.path}`);
  });
});
