import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stateName } from "../../src/client/state.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { Relay } from "../../src/testing/relay.ts";
import { Site, type Running } from "../support/busbar.ts";

let above: Site;
let below: Site;
let relay: Relay;
let others: Site[];
beforeEach(async () => {
  [above, below, others] = [new Site(), new Site(), []];
  await Promise.all([above.startServer(), below.startServer()]);
  await below.startAgent("n1", "--cpu", "8");
  relay = await Relay.start(above.server);
});
afterEach(async () => {
  for (const site of [above, below, ...others]) await site.close();
  await relay.close();
});

function speak(
  { of = above, to = below, cluster = "site-a", server = relay.address } = {},
  ...flags: string[]
): Running {
  const data = of.path(`agent-${cluster}`);
  const own = ["--server", server, "--cluster", cluster, "--data", data, "--refresh", "1s"];
  const how = ["--executor", "busbar", "--to", to.server, "--lease", "1s", ...flags];
  return of.start(["agent", ...own, ...how]);
}

/** Prints that it began, waits until a file appears, prints that it ended. */
const waiting = (code = 0): string[] => [
  "sh",
  "-c",
  `echo "$BUSBAR_ORIGIN_TASK_ID $BUSBAR_ORIGIN_ATTEMPT" >>"${above.path("began")}"
   while [ -d "${above.directory}" ] && [ ! -e "${above.path("go")}" ]; do sleep 0.2; done
   echo "$BUSBAR_ORIGIN_TASK_ID $BUSBAR_ORIGIN_ATTEMPT" >>"${above.path("ended")}"
   exit ${code}`,
];
const go = (): void => writeFileSync(above.path("go"), "");
const lines = (name: string, count: number): Promise<unknown> =>
  eventually(() => above.lines(name).length >= count, {
    what: `${count} lines of ${name}`,
    timeoutMs: 90_000,
  });
const submit = async (spec: object, to = above): Promise<string> => {
  const { jobs } = await to.client.submitJobs({ jobs: [{ spec }] });
  return jobs[0]?.id ?? "";
};
const onSite = { placement: { cluster: "site-a" } };

describe("a Busbar as a cluster of another", () => {
  test("jobs, output, usage, cancel and explain pass through both", async () => {
    speak();
    await above.nodeIs("site-a-agent", "connected");
    const spec = { ...onSite, comment: "travels", priority: 3, array: "4-5" };
    const script = 'echo "$BUSBAR_ARRAY_INDEX of $BUSBAR_ARRAY_SIZE on $BUSBAR_NODE"; exit 7';
    const id = await submit({ ...spec, script });
    await above.jobIs(id, "failed");
    const task = await above.client.getTask({ id: `${id}.5` });
    expect(task).toMatchObject({ exitCode: 7, attempt: 1, node: "site-a-agent" });
    expect(task.usage?.wallMs).toBeGreaterThan(0);
    expect(await above.run("logs", `${id}.5`)).toMatchObject({ stdout: "5 of 2 on n1\n" });
    const { jobs } = await below.client.listJobs({ filter: { group: "upstream" } });
    expect(jobs).toHaveLength(2);
    expect(jobs[0]?.spec).toMatchObject({ comment: "travels", priority: 3 });
    expect(jobs[0]?.spec?.labels).toMatchObject({ "busbar.origin": "site-a" });

    const far = await submit({
      ...onSite,
      script: `echo "40 step 3" >"$BUSBAR_PROGRESS_FILE"; while [ ! -e "${above.path("on")}" ]; do sleep 0.2; done
        echo "60 almost" >"$BUSBAR_PROGRESS_FILE"`,
    });
    await eventually(
      async () => (await above.client.getTask({ id: far })).progress?.percent === 40,
      { what: "its progress", timeoutMs: 60_000 },
    );
    expect((await above.client.getTask({ id: far })).progress?.message).toBe("step 3");
    writeFileSync(above.path("on"), "");
    await above.jobIs(far, "succeeded");
    expect((await above.client.getTask({ id: far })).progress).toMatchObject({ percent: 60 });

    // The nodes below are the cluster's nodes; a node that is drained there has no free capacity.
    const { graph } = await above.client.getClusterGraph({ name: "site-a" });
    expect(graph).toContain('"/site-a/default/n1"');
    await below.json("nodes", "drain", "n1");
    await eventually(
      async () => {
        const { state } = await above.client.getCluster({ name: "site-a" });
        const document = await above.client.getClusterGraph({ name: "site-a" });
        const free = state.find(({ key }) => key === "nodes_free")?.value?.value.value;
        return free === 0 && document.graph.includes('"state":"drained"');
      },
      { what: "the drained node to be seen above", timeoutMs: 30_000 },
    );
    await below.json("nodes", "undrain", "n1");
    await below.startAgent("n2", "--cpu", "4");
    await eventually(
      async () =>
        (await above.client.getClusterGraph({ name: "site-a" })).graph.includes("default/n2"),
      { what: "the node that joined to be seen above", timeoutMs: 30_000 },
    );

    const running = await submit({ ...onSite, command: waiting() });
    await lines("began", 1);
    await above.json("cancel", running);
    await above.jobIs(running, "cancelled");
    await eventually(
      async () =>
        (await below.client.listJobs({ filter: { group: "upstream" } })).jobs.every(
          ({ state }) => stateName(state) !== "running",
        ),
      { what: "the job below to end" },
    );
    expect(above.lines("ended")).toEqual([]);
  });

  test("a job that is pending below shows its reason above; a cancel below is reported above", async () => {
    speak({}, "--take", "queue=10");
    await above.nodeIs("site-a-agent", "connected");
    // A job of the site's own users.
    const own = await submit({ command: ["sleep", "600"], resources: { cpu: 8 } }, below);
    await below.jobIs(own, "running");
    const id = await submit({ ...onSite, command: ["true"], resources: { cpu: 2 } });
    await eventually(
      async () => {
        const { summary } = await above.client.explainJob({ id });
        return /1 task waits in busbar: 1 node could run it later \(1 node: /.test(summary);
      },
      { what: "the reason below", timeoutMs: 60_000 },
    );
    const [job] = (await below.client.listJobs({ filter: { group: "upstream" } })).jobs;
    await below.json("cancel", job?.id ?? "", "--reason", "not here");
    await above.jobIs(id, "failed");
    const { reason } = await above.client.getJob({ id });
    expect(reason).toBe("could not start: cancelled at site site-a: not here");
    await below.jobIs(own, "running"); // jobs of the site itself are never touched
  });

  test("a site that is cut off continues; afterwards both agree, and nothing ran twice", async () => {
    const agent = speak();
    await above.nodeIs("site-a-agent", "connected");
    const id = await submit({ ...onSite, array: "0-5", command: waiting(), resources: { cpu: 1 } });
    const running = async () => Number((await above.client.getJob({ id })).tasks?.running);
    await eventually(async () => (await running()) === 6, {
      what: "six to run",
      timeoutMs: 60_000,
    });
    relay.cut();
    await above.nodeIs("site-a-agent", "lost");
    // Kept: it is not lost or placed again. A job that is cancelled meanwhile ends here at once.
    expect(await running()).toBe(6);
    await above.json("cancel", `${id}.5`);
    const task = await above.client.getTask({ id: `${id}.5` });
    expect(stateName(task.state)).toBe("cancelled");
    const own = await submit({ command: ["true"], resources: { cpu: 1 } }, below);
    await below.jobIs(own, "succeeded");
    go();
    await lines("ended", 6);
    // The agent is killed while all its pending reports are on its disk.
    await agent.end("SIGKILL");
    speak();
    relay.heal();
    await eventually(
      async () => Number((await above.client.getJob({ id })).tasks?.succeeded) === 5,
      { what: "the results", timeoutMs: 60_000 },
    );
    expect(new Set(above.lines("began")).size).toBe(6);
    expect(above.lines("began")).toHaveLength(6);
    const { tasks } = await above.client.listTasks({ jobId: id });
    expect(tasks.every(({ attempt }) => attempt === 1)).toBe(true);
    const next = await submit({ ...onSite, command: ["true"] });
    await above.jobIs(next, "succeeded");
  });
});

describe("more than two", () => {
  test("a site of a site, which has no nodes of its own", async () => {
    const middle = new Site();
    others.push(middle);
    await middle.startServer();
    speak({ of: middle, to: below, cluster: "leaf", server: middle.server });
    await middle.nodeIs("leaf-agent", "connected");
    speak({ to: middle, cluster: "site-a" });
    await above.nodeIs("site-a-agent", "connected");
    await eventually(
      async () =>
        (await above.client.getClusterGraph({ name: "site-a" })).graph.includes(
          '"/site-a/leaf/default/n1"',
        ),
      { what: "nodes two levels below", timeoutMs: 30_000 },
    );
    await below.startAgent("n2", "--cpu", "4");
    await eventually(
      async () =>
        (await above.client.getClusterGraph({ name: "site-a" })).graph.includes("leaf/default/n2"),
      { what: "a node that joins two levels below", timeoutMs: 60_000 },
    );
    const id = await submit({
      ...onSite,
      array: "0-3",
      script: "echo $BUSBAR_ORIGIN_TASK_ID; exit 3",
    });
    await above.jobIs(id, "failed");
    expect(await above.client.getTask({ id: `${id}.2` })).toMatchObject({
      exitCode: 3,
      attempt: 1,
    });
    expect(await above.run("logs", `${id}.2`)).toMatchObject({ stdout: `${id}.2\n` });
  });

  test("in a circle is refused: the agent that closes it, and jobs that would circulate", async () => {
    const first = speak({}, "--take", "queue=10");
    await above.nodeIs("site-a-agent", "connected");
    const back = { of: below, to: above, cluster: "back", server: below.server };
    speak(back, "--take", "queue=10");
    await below.nodeIs("back-agent", "connected");
    await first.prints(/site site-a contains itself: its cluster back /);
    // With no other place to run it goes to site-a, back up, and to site-a again.
    await below.json("nodes", "drain", "n1");
    const id = await submit({ ...onSite, command: ["true"] });
    await above.jobIs(id, "failed");
    expect((await above.client.getJob({ id })).reason).toContain("passed through site site-a");
    await first.end("SIGTERM");
    const again = speak();
    expect(await again.end()).not.toBe(0);
    expect(again.output).toContain("site site-a contains itself");
  });
});
