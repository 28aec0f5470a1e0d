import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { ClusterSite, SPACK_JOBSPEC } from "../support/cluster-agents.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: ClusterSite;
afterEach(() => site.close());

/** Prints that it began, waits until a file appears, prints that it ended. */
const waiting = (code = 0): string[] => [
  "sh",
  "-c",
  `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT $BUSBAR_NODE $$" >>"${site.path("began")}"
   while [ -d "${site.directory}" ] && [ ! -e "${site.path("go")}" ]; do sleep 0.2; done
   echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT $BUSBAR_NODE" >>"${site.path("ended")}"
   exit ${code}`,
];
const CORE = JSON.stringify([[{ type: "core", count: 1 }]]);
const go = (): void => writeFileSync(site.path("go"), "");
const began = (count: number): Promise<unknown> =>
  eventually(() => site.lines("began").length >= count, {
    what: `${count} tasks to begin`,
    timeoutMs: 90_000,
  });

describe("a machine that is its own cluster", () => {
  test("registers itself, accepts and runs tasks, and reports its state", async () => {
    site = new ClusterSite();
    await site.startServer();
    await site.speakFor("blue", {}, "--cpu", "4", "--cost", "3.5", "--refresh", "1s");
    const cluster = await site.json<{ state: { key: string; value: unknown }[] }>(
      "cluster",
      "show",
      "blue",
    );
    expect(cluster).toMatchObject({ kind: "pulling", vertices: { cluster: 1, node: 1, core: 4 } });
    expect(Object.fromEntries(cluster.state.map(({ key, value }) => [key, value]))).toMatchObject({
      nodes_free: 1,
      nodes_total: 1,
      cores_free: 4,
      cost_per_node_hour: 3.5,
    });

    const id = await site.submit("--cluster", "blue", "--", ...waiting());
    await began(1);
    await eventually(
      async () => {
        const { state } = await site.client.getCluster({ name: "blue" });
        return state.some(({ key, value }) => key === "cores_free" && value?.value.value === 3);
      },
      { what: "the state to say that a core is in use" },
    );
    go();
    await site.jobIs(id, "succeeded");
    expect(site.lines("ended")).toEqual([`${id} 1 blue-agent`]);

    const failed = await site.submit("--cluster", "blue", "--", "sh", "-c", "echo out; exit 7");
    await site.jobIs(failed, "failed");
    expect(await site.json("job", `${failed}.0`)).toMatchObject({ exitCode: 7, attempt: 1 });
    expect(await site.run("logs", failed)).toMatchObject({ code: 0, stdout: "out\n" });
  });

  test("accepts no more at once than its free capacity, and the rest as capacity becomes free", async () => {
    site = new ClusterSite();
    await site.startServer();
    await site.speakFor("blue", {}, "--cpu", "3");
    const id = await site.submit("--cluster", "blue", "--array", "0-9", "--", ...waiting());
    await began(3);
    // Tasks that were not accepted stay offered; there they can be cancelled or placed elsewhere.
    await eventually(
      async () => {
        const { tasks } = await site.client.getJob({ id });
        return Number(tasks?.running) === 3 && Number(tasks?.offered) === 7;
      },
      { what: "three tasks to run and seven to be offered" },
    );
    expect(site.lines("began")).toHaveLength(3);
    go();
    await site.jobIs(id, "succeeded");
    expect(site.lines("ended")).toHaveLength(10);
  });

  test("a cancelled job is ended below", async () => {
    site = new ClusterSite();
    await site.startServer();
    await site.speakFor("blue", {}, "--cpu", "2");
    const id = await site.submit("--cluster", "blue", "--", ...waiting());
    await began(1);
    await site.json("cancel", id);
    await site.jobIs(id, "cancelled");
    go();
    const next = await site.submit("--cluster", "blue", "--", "true");
    await site.jobIs(next, "succeeded");
    expect(site.lines("ended")).toEqual([]);
  });

  test("a cluster that another client registered keeps its graph by default", async () => {
    site = new ClusterSite();
    await site.startServer();
    const foreign = { graph: { nodes: { "0": { metadata: { type: "cluster" } } } } };
    writeFileSync(site.path("g.json"), JSON.stringify(foreign));
    await site.json("cluster", "register", "blue", "--graph", site.path("g.json"));
    const agent = await site.speakFor("blue");
    await agent.prints(/has another graph/);
    expect(await site.json("cluster", "show", "blue")).toMatchObject({ vertices: { cluster: 1 } });
    await agent.end("SIGTERM");
    await site.speakFor("blue", {}, "--update-graph", "--cpu", "2");
    expect(await site.json("cluster", "show", "blue")).toMatchObject({ vertices: { core: 2 } });
  });
});

describe("two agents of one cluster", () => {
  test("share its work: each job runs once", async () => {
    site = new ClusterSite();
    await site.startServer();
    await site.speakFor("blue", { name: "b1" }, "--cpu", "4");
    await site.speakFor("blue", { name: "b2" }, "--cpu", "4");
    const id = await site.submit("--cluster", "blue", "--array", "0-39", "--", ...waiting());
    await began(8);
    go();
    await site.jobIs(id, "succeeded");
    const ended = site.lines("ended").map((line) => line.split(" "));
    const all = Array.from({ length: 40 }, (_, index) => `${id}.${index}`).sort();
    expect(ended.map(([task]) => task)).toEqual(all);
    expect(new Set(ended.map(([, , node]) => node))).toEqual(new Set(["b1", "b2"]));
  });

  test("an agent that accepted a job and does not come back loses it to the other when its lease ends", async () => {
    site = new ClusterSite();
    await site.startServer();
    const first = await site.speakFor("blue", { name: "b1" }, "--cpu", "1", "--lease", "1s");
    const id = await site.submit("--cluster", "blue", "--", ...waiting());
    await began(1);
    await first.end("SIGKILL");
    await site.speakFor("blue", { name: "b2" }, "--cpu", "1");
    await began(2);
    go();
    await site.jobIs(id, "succeeded");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ attempt: 2, node: "b2" });
    // When it reconnects after all, its remaining runs are no longer wanted.
    await site.speakFor("blue", { name: "b1" }, "--cpu", "1");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ attempt: 2, node: "b2" });
  });

  test("a job does not wait for a cluster whose last agent is lost, when another could run it", async () => {
    site = new ClusterSite();
    await site.startServer();
    await site.speakFor("red", {}, "--cpu", "2");
    await site.json("nodes", "drain", "red-agent"); // so that blue gets both
    const blue = await site.speakFor("blue", {}, "--cpu", "1", "--lease", "1s");
    const spec = { command: waiting(), request: CORE, placement: { kind: "pulling" } };
    const jobs = (await site.client.submitJobs({ jobs: [{ spec }, { spec }] })).jobs;
    await began(1); // the other one is offered to blue, which has no free capacity for it
    await site.json("nodes", "undrain", "red-agent");
    expect(site.lines("began")).toHaveLength(1);
    await blue.end("SIGKILL");
    await began(3);
    go();
    for (const { id } of jobs) {
      await site.jobIs(id, "succeeded");
      expect(await site.json("job", `${id}.0`)).toMatchObject({ attempt: 2, node: "red-agent" });
    }
  });

  test("an agent with a longer grace period keeps its job, however long it is away", async () => {
    site = new ClusterSite();
    await site.startServer("--node-lost-after", "1s");
    const flags = ["--cpu", "1", "--lease", "1s", "--on-lost", "keep"];
    const first = await site.speakFor("blue", { name: "b1" }, ...flags);
    const id = await site.submit("--cluster", "blue", "--", ...waiting());
    await began(1);
    await first.end("SIGKILL");
    const other = await site.startAgent("n1", "--cpu", "1");
    await other.end("SIGKILL");
    await site.nodeIs("n1", "lost"); // it was away for less time
    go();
    await site.speakFor("blue", { name: "b1" }, ...flags);
    await site.jobIs(id, "succeeded");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ attempt: 1, node: "b1" });
  });
});

describe("kill -9", () => {
  test("of the agent, again and again: each task runs once and is reported", async () => {
    site = new ClusterSite();
    await site.startServer();
    const count = 60;
    const id = await site.submit(
      "--cluster",
      "blue",
      "--array",
      `0-${count - 1}`,
      "--allow-unsatisfiable",
      "--",
      "sh",
      "-c",
      `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ran")}"; sleep 0.1`,
    );
    for (let round = 0; round < 12 && site.lines("ran").length < count; round++) {
      // Started tasks continue without an agent: they may all have run by now.
      const before = Math.min(site.lines("ran").length, count - 1);
      const agent = site.startSpeaker("blue", {}, "--cpu", "4", "--no-discovery");
      await eventually(() => site.lines("ran").length > before || agent.isOver, {
        what: () => `another task to run: ${site.lines("ran").length} have`,
        timeoutMs: 60_000,
      });
      await agent.end("SIGKILL");
    }
    await site.speakFor("blue", {}, "--cpu", "4", "--no-discovery");
    await site.jobIs(id, "succeeded");
    const all = Array.from({ length: count }, (_, index) => `${id}.${index} 1`).sort();
    expect(site.lines("ran")).toEqual(all);
  });
});

describe("a jobspec runs as written", () => {
  /** A cluster is registered, a command is submitted to it, then the jobspec. */
  async function walk(installing: () => string): Promise<string> {
    site = new ClusterSite();
    const order = `"${site.path("order")}"`;
    const install = `echo "$*" >>${order}; ${installing()}; echo installed >>${order}`;
    site.program("spack", `[ "$1" = install ] || exit 0\n${install}`);
    site.program("ior", `echo "ior $*" >>${order}; echo '{"summary": "ok"}'`);
    await site.startServer();
    await site.speakFor("blue", {}, "--cpu", "10");
    const hello = await site.submit("--cluster", "blue", "--", "echo", "hostname");
    await site.jobIs(hello, "succeeded");
    expect((await site.run("logs", hello)).stdout).toBe("hostname\n");
    return site.submitWhole("blue", SPACK_JOBSPEC);
  }
  const order = (): string[] =>
    readFileSync(site.path("order"), "utf8").split("\n").filter(Boolean);

  test("the second task starts only after the first succeeded", async () => {
    const id = await walk(
      () => `while [ -d "${site.directory}" ] && [ ! -e "${site.path("go")}" ]; do sleep 0.1; done`,
    );
    await eventually(() => site.lines("order").length > 0, { what: "the build to begin" });
    await site.jobIs(id, "running");
    expect(order()).toEqual(["install ior"]);
    go();
    await site.jobIs(id, "succeeded");
    expect(order()).toEqual(["install ior", "installed", "ior -b 10g -O summaryFormat=json"]);
    expect((await site.run("logs", id)).stdout).toContain('{"summary": "ok"}\n');
  });

  test("when the first fails the second never starts, and the job fails with its exit code", async () => {
    const id = await walk(() => "exit 3");
    await site.jobIs(id, "failed");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ exitCode: 3, attempt: 1 });
    expect(order()).toEqual(["install ior"]);
  });
});
