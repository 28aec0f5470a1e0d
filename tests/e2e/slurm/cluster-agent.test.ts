import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ClusterSite, SPACK_JOBSPEC } from "../../support/cluster-agents.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { type Slurm, startSlurm, whyNoSlurm } from "../../support/slurm.ts";

const missing = whyNoSlurm();
const CPUS = 16;
const OVER_SLURM = { executor: "slurm" };

describe.skipIf(missing !== undefined)("the agent of a real Slurm cluster", () => {
  let slurm: Slurm;
  let site: ClusterSite;
  beforeAll(async () => {
    slurm = await startSlurm({ cpus: CPUS });
  });
  afterAll(() => slurm?.stop());
  beforeEach(() => {
    site = new ClusterSite(slurm.env);
  });
  afterEach(async () => {
    slurm.run("scancel", "--me", "--quiet");
    await site.close();
  });

  const queue = (): string[] =>
    slurm.run("squeue", "--array", "--noheader", "--format=%i %t").split("\n").filter(Boolean);
  const waiting = (): string =>
    `while [ -d "${site.directory}" ] && [ ! -e "${site.path("go")}" ]; do sleep 0.1; done`;
  const go = (): void => writeFileSync(site.path("go"), "");
  const order = (): string[] =>
    readFileSync(site.path("order"), "utf8").split("\n").filter(Boolean);

  test("registers Slurm's nodes, runs jobs there, and reports its state", async () => {
    await site.startServer();
    await site.speakFor("blue", OVER_SLURM, "--refresh", "1s");
    type Shown = { readonly state: { readonly key: string; readonly value: unknown }[] };
    const cluster = await site.json<Shown>("cluster", "show", "blue");
    expect(cluster).toMatchObject({ kind: "pulling", vertices: { node: 1, core: CPUS } });
    expect(Object.fromEntries(cluster.state.map(({ key, value }) => [key, value]))).toMatchObject({
      nodes_free: 1,
      nodes_total: 1,
      cores_free: CPUS,
      queue_length: 0,
    });
    const told = 'echo "$BUSBAR_TASK_ID $BUSBAR_CLUSTER ${SLURM_JOB_ID:+slurm}"; exit 7';
    const failed = await site.submit("--cluster", "blue", "--", "sh", "-c", told);
    await site.jobIs(failed, "failed");
    expect(await site.json("job", `${failed}.0`)).toMatchObject({ exitCode: 7, attempt: 1 });
    expect((await site.run("logs", failed)).stdout).toBe(`${failed} blue slurm\n`);
  });

  test("accepts what fits now, and a cancelled job is ended below", async () => {
    await site.startServer();
    await site.speakFor("blue", OVER_SLURM);
    const array = ["--cluster", "blue", "--cpu", "4", "--array", "0-5"];
    const id = await site.submit(...array, "--", "sh", "-c", waiting());
    await eventually(
      async () => {
        const { tasks } = await site.client.getJob({ id });
        return Number(tasks?.running) === 4 && Number(tasks?.offered) === 2;
      },
      { what: "four tasks to run and two to be offered", timeoutMs: 60_000 },
    );
    expect(queue()).toHaveLength(4);
    await site.json("cancel", id);
    await site.jobIs(id, "cancelled");
    await eventually(() => queue().every((line) => line.endsWith("CG")), {
      what: "Slurm to run nothing",
      timeoutMs: 60_000,
    });
  });

  test("a queue below: more is accepted than fits, and Slurm orders it", async () => {
    await site.startServer();
    await site.speakFor("blue", OVER_SLURM, "--take", "queue=3");
    const array = ["--cluster", "blue", "--cpu", "8", "--array", "0-9"];
    const id = await site.submit(...array, "--", "sh", "-c", waiting());
    await eventually(() => queue().length >= 5, {
      what: "two jobs to run in Slurm and three to wait",
      timeoutMs: 60_000,
    });
    // Slurm's own reason, in the views of tasks and the job.
    const isTold = async (): Promise<boolean> => {
      const said = await Promise.all([site.run("tasks", id), site.run("explain", id)]);
      return said.every(({ stdout }) => /waits? in slurm: (Resources|Priority)/.test(stdout));
    };
    await eventually(isTold, { what: "Slurm's reason", timeoutMs: 60_000 });
    go();
    await site.jobIs(id, "succeeded");
  });

  /** A cluster is registered, a command is submitted to it, then the jobspec. */
  async function walk(installing: string): Promise<string> {
    const file = `"${site.path("order")}"`;
    const install = `echo "$*" >>${file}; ${installing}; echo installed >>${file}`;
    site.program("spack", `[ "$1" = install ] || exit 0\n${install}`);
    site.program("ior", `echo "ior $*" >>${file}; echo '{"summary": "ok"}'`);
    await site.startServer();
    await site.speakFor("blue", OVER_SLURM);
    const hello = await site.submit("--cluster", "blue", "--", "echo", "hostname");
    await site.jobIs(hello, "succeeded");
    expect((await site.run("logs", hello)).stdout).toBe("hostname\n");
    return site.submitWhole("blue", SPACK_JOBSPEC);
  }

  test("a jobspec: the second task starts only after the first succeeded", async () => {
    const id = await walk(waiting());
    await eventually(() => site.lines("order").length > 0, {
      what: "the build to begin",
      timeoutMs: 60_000,
    });
    expect(order()).toEqual(["install ior"]);
    go();
    await site.jobIs(id, "succeeded");
    expect(order()).toEqual(["install ior", "installed", "ior -b 10g -O summaryFormat=json"]);
    expect((await site.run("logs", id)).stdout).toContain('{"summary": "ok"}\n');
  });

  test("a jobspec: when the first fails the second never starts", async () => {
    const id = await walk("exit 3");
    await site.jobIs(id, "failed");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ exitCode: 3, attempt: 1 });
    expect(order()).toEqual(["install ior"]);
  });

  test("kill -9 of the agent, again and again: each task runs once and is reported", async () => {
    await site.startServer();
    const count = 40;
    const flags = ["--cluster", "blue", "--array", `0-${count - 1}`, "--allow-unsatisfiable"];
    const told = `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ran")}"; sleep 0.5`;
    const id = await site.submit(...flags, "--", "sh", "-c", told);
    for (let round = 0; round < 8 && site.lines("ran").length < count; round++) {
      // Jobs that Slurm has continue without an agent: they may all have run by now.
      const before = Math.min(site.lines("ran").length, count - 1);
      const agent = site.startSpeaker("blue", OVER_SLURM, "--no-discovery");
      await eventually(() => site.lines("ran").length > before || agent.isOver, {
        what: () => `another task to run: ${site.lines("ran").length} have`,
        timeoutMs: 60_000,
      });
      await agent.end("SIGKILL");
    }
    await site.speakFor("blue", OVER_SLURM, "--no-discovery");
    await site.jobIs(id, "succeeded");
    const all = Array.from({ length: count }, (_, index) => `${id}.${index} 1`).sort();
    expect(site.lines("ran")).toEqual(all);
  });
});
