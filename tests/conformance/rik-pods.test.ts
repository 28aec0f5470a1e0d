import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { whyNoContainers, writeImageLayout } from "../support/container-image.ts";
import { RikSite, STATUS } from "./support/rik.ts";

const why = await whyNoContainers();
if (why === undefined) describePods();
else describe("Pods", () => test.skip(`cannot be started here: ${why}`, () => undefined));

/** Workloads of rik on Busbar's own agents: docs/containers.md. */
function describePods(): void {
  const directory = mkdtempSync(join(tmpdir(), "busbar-pods-"));
  const image = writeImageLayout(join(directory, "layout"), {
    command: ["sh", "-c", 'echo "$SAYS"; sleep "$FOR"; exit "$CODE"'],
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  let site: RikSite;
  afterEach(() => site.close());

  const pod = (name: string, env: Readonly<Record<string, string>>, more = {}): object => ({
    apiVersion: "v1",
    kind: "Pod",
    name,
    spec: {
      ...more,
      containers: [
        {
          name: "main",
          image,
          env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
          resources: { requests: { cpu: "100m" } },
        },
      ],
    },
  });
  const STAYS = { SAYS: "hello", FOR: "100000", CODE: "0" };
  const FAILS = { SAYS: "oh", FOR: "0", CODE: "3" };
  const ENDS = { SAYS: "done", FOR: "0", CODE: "0" };

  interface Shown {
    readonly status: string;
    readonly node?: string;
    readonly reason?: string;
  }

  async function rest<T>(route: string, body?: object): Promise<T> {
    const post = { method: "POST", body: JSON.stringify(body) };
    const url = `http://${site.rest}/api/v0/${route}`;
    const answer = await fetch(url, body === undefined ? {} : post);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${route}: ${answer.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  const shown = async (id: string): Promise<Shown | undefined> =>
    (await rest<{ id: string; value: Shown }[]>("instances.list")).find((one) => one.id === id)
      ?.value;

  async function shownAs(id: string, status: string): Promise<Shown> {
    let last: Shown | undefined;
    await eventually(async () => (last = await shown(id))?.status === status, {
      what: () => `${id} to be ${status}, not ${JSON.stringify(last)}`,
      timeoutMs: 90_000,
    });
    return last ?? expect.fail();
  }

  async function start(name: string, env: Readonly<Record<string, string>>): Promise<string> {
    const { id } = await rest<{ id: string }>("workloads.create", pod(name, env));
    await rest("instances.create", { workload_id: id, name: `${name}-one` });
    return id;
  }

  test("an agent that starts containers runs them, and REST users and controllers see their ends", async () => {
    site = new RikSite();
    await site.startRik();
    await site.startAgent("a1", "--cpu", "4", "--resource", "instances=50");
    const id = await start("stays", STAYS);
    expect(await shownAs("stays-one", "Running")).toMatchObject({ node: "a1" });
    const { jobs } = await site.client.listJobs({ filter: { states: [] }, pageSize: 10 });
    const job = jobs.find(({ spec }) => spec?.name === "stays-one")?.id ?? "";
    await eventually(async () => (await site.run("logs", job)).stdout.includes("hello"), {
      what: "its output",
    });

    await start("fails", FAILS);
    expect((await shownAs("fails-one", "Failed")).reason).toContain("exited with code 3");
    await start("ends", ENDS);
    expect((await shownAs("ends-one", "Terminated")).reason).toContain("ended by itself");
    const controller = await site.controller();
    await controller.create("c-fails", { definition: JSON.stringify(pod("c", FAILS)) });
    await controller.told("c-fails", STATUS.failed);
    const told = controller.of("instance", { id: "c-fails" }).at(-1);
    expect(told?.metrics).toContain("exited with code 3");
    await controller.create("c-ends", { definition: JSON.stringify(pod("c", ENDS)) });
    await controller.told("c-ends", STATUS.terminated);

    const definition = JSON.stringify(pod("c", FAILS, { restartPolicy: "OnFailure" }));
    await controller.create("c-again", { definition });
    const failures = (): number =>
      controller.statuses("c-again").filter((status) => status === STATUS.failed).length;
    await eventually(() => failures() >= 2, { what: "another start", timeoutMs: 90_000 });

    // Another definition replaces the container.
    await rest("workloads.update", {
      id,
      value: pod("stays", { ...STAYS, SAYS: "again" }),
      min_ready_ms: 0,
    });
    await eventually(
      async () => (await rest<{ state: string }>(`workloads.status/${id}`)).state === "done",
      { what: "the rollout", timeoutMs: 90_000 },
    );
    await rest("workloads.delete", { id });
    await eventually(async () => (await shown("stays-one")) === undefined, {
      what: "it to end",
      timeoutMs: 90_000,
    });
  }, 200_000);

  test("workers of rik get only instances; agents get no Functions", async () => {
    site = new RikSite();
    await site.startRik();
    const worker = await site.worker("w", "-cpus", "64");
    await site.startAgent("a1", "--cpu", "2", "--resource", "instances=50");
    await site.nodesAre(2);
    await start("files", STAYS);
    expect(await shownAs("files-one", "Running")).toMatchObject({ node: "a1" });
    expect(await site.run("run", "--", "true")).toMatchObject({ code: 0 });
    await worker.running.end("SIGKILL");
    await site.nodesAre(1);
    const rootfs = "http://127.0.0.1/rootfs.ext4";
    const { id } = await rest<{ id: string }>("workloads.create", {
      apiVersion: "v1",
      kind: "Function",
      name: "f",
      spec: { function: { execution: { rootfs } } },
    });
    await rest("instances.create", { workload_id: id, name: "f-one" });
    const jobs = (await site.client.listJobs({ filter: {}, pageSize: 10 })).jobs;
    const job = jobs.find(({ spec }) => spec?.name === "f-one")?.id ?? "";
    expect((await site.run("explain", job)).stdout).toContain("cannot run Functions");
    expect(await shown("f-one")).toMatchObject({ status: "Pending" });
  }, 200_000);
}
