import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Executor, RunId, RunRequest } from "../../../src/ports/executor.ts";
import {
  aRequest,
  endOfRun,
  readAll,
  reportFor,
} from "../../contract/executor/executor-contract.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import type { SlurmBed } from "../../support/slurm-bed.ts";
import { makeSlurmBed } from "../../support/slurm-bed.ts";
import type { Slurm } from "../../support/slurm.ts";
import { startSlurm } from "../../support/slurm.ts";

const script = (text: string) => ({ kind: "script", text }) as const;
const exited = (exitCode: number) => ({ kind: "exited", exitCode });

describe("runs on a real Slurm", () => {
  let slurm: Slurm;
  let bed: SlurmBed;
  let executor: Executor;
  let count = 0;

  beforeAll(async () => {
    // It drops ended jobs after two seconds, and kills processes that ignore TERM after five minutes: no test waits for that.
    slurm = await startSlurm({ config: ["MinJobAge=2", "KillWait=300"] });
  });
  afterAll(async () => {
    await slurm.stop();
  });
  beforeEach(async () => {
    bed = makeSlurmBed(slurm);
    executor = await bed.open();
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });

  const nextId = (): RunId => ({ jobId: (count += 1), index: 0, attempt: 1 });
  function start(work: RunRequest["work"], over: Partial<RunRequest> = {}): RunId {
    const request = aRequest(work, { id: nextId(), ...over });
    executor.start(request);
    return request.id;
  }
  async function run(work: RunRequest["work"], over: Partial<RunRequest> = {}) {
    const id = start(work, over);
    const { end, startedAtMs } = await endOfRun(executor, id);
    const stdout = (await readAll(executor, id, "stdout")).text;
    const stderr = (await readAll(executor, id, "stderr")).text;
    return { end, startedAtMs, stdout, stderr };
  }
  const isRunning = (id: RunId) => (): boolean => reportFor(executor, id)?.kind === "running";
  const jobId = (): string => slurm.run("squeue", "--me", "--noheader", "--format=%A").trim();

  const ends: readonly [text: string, end: object][] = [
    ["exit 0", exited(0)],
    ["exit 3", exited(3)],
    ["exit 137", exited(137)],
    ["kill -KILL $$", { kind: "signalled", signal: "SIGKILL" }],
    ["kill -SEGV $$", { kind: "signalled", signal: "SIGSEGV" }],
    ["kill -INT $$", { kind: "signalled", signal: "SIGINT" }],
  ];
  for (const [text, end] of ends) {
    test(`${text} is reported exactly`, async () => {
      expect((await run(script(text))).end).toEqual(end);
    });
  }

  test("arguments, variables and directories pass unchanged", async () => {
    const odd = "a,b \"c\" $d `e` 'f'\n%x %% \\n";
    const env = { ODD: odd, BUSBAR_JOB_ID: "5" };
    const text = 'printf "%s|%s|" "$1" "$ODD"; pwd; echo "$BUSBAR_JOB_ID"';
    const work = { kind: "command", argv: ["/bin/sh", "-c", text, "sh", odd] } as const;
    const { end, stdout } = await run(work, { env, cwd: "/tmp" });
    expect(end).toEqual(exited(0));
    expect(stdout).toBe(`${odd}|${odd}|/tmp\n5\n`);
    const dotted = { kind: "command", argv: ["printenv", "with.dot"] } as const;
    expect((await run(dotted, { env: { "with.dot": "g,h" } })).stdout).toBe("g,h\n");
  });

  test("failed starts have a reason", async () => {
    const { end } = await run({ kind: "command", argv: ["no-such-program"] });
    const message = "program not found: no-such-program";
    expect(end).toEqual({ kind: "could-not-start", message });
    const refused = await run(script("true"), { needs: { gpu: 1 } });
    expect(refused.end).toEqual({
      kind: "could-not-start",
      message: "sbatch: Invalid generic resource (gres) specification",
    });
  });

  test("each requested process runs the command", async () => {
    const core = tree("core", 2);
    const request = [[{ ...tree("slot", 3), isSlot: true, with: [core] }]];
    const { end, stdout } = await run(script('echo "$SLURM_PROCID of $SLURM_NTASKS"'), { request });
    expect(end).toEqual(exited(0));
    expect(stdout.trim().split("\n").toSorted()).toEqual(["0 of 3", "1 of 3", "2 of 3"]);
  });

  test("an array is one job of Slurm, and each of its tasks ends by itself", async () => {
    const job = (count += 1);
    const ids = Array.from({ length: 20 }, (_, index) => ({ jobId: job, index, attempt: 1 }));
    for (const id of ids) {
      const text = `echo $BUSBAR_ARRAY_INDEX $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT; [ $BUSBAR_ARRAY_INDEX != 7 ]`;
      const env = { BUSBAR_ARRAY_INDEX: String(id.index) };
      executor.start(aRequest(script(text), { id, env, arrayIndex: id.index }));
    }
    for (const id of ids) {
      expect((await endOfRun(executor, id)).end).toEqual(exited(id.index === 7 ? 1 : 0));
      expect((await readAll(executor, id, "stdout")).text).toBe(`${id.index} ${id.index} 20\n`);
    }
  });

  test("a stopped run gets TERM, and KILL when it ignores that", async () => {
    const heeding = start(script('trap "echo bye; exit 0" TERM; echo hi; sleep 100 & wait'));
    const deaf = start(script('trap "" TERM; while :; do sleep 1; done'), { killGraceMs: 500 });
    await eventually(isRunning(heeding), { what: "it to run" });
    await eventually(isRunning(deaf), { what: "it to run" });
    await eventually(async () => (await readNow(heeding)) === "hi\n", { what: "it to listen" });
    executor.stop(heeding);
    executor.stop(deaf);
    expect((await endOfRun(executor, heeding)).end.kind).toBe("stopped");
    expect((await endOfRun(executor, deaf)).end.kind).toBe("stopped");
    expect(commandsIn(`${bed.directory}/runs/`)).toEqual([]);
    expect((await readAll(executor, heeding, "stdout")).text).toBe("hi\nbye\n");
    expect(jobId()).toBe("");
  });

  test("processes of srun that ignore TERM are killed after the grace period too", async () => {
    const text = `version: 1
resources: {two: {type: core, replicas: 2}}
tasks: [{name: a, resources: two, command: [sh, -c, 'trap "" TERM; while :; do sleep 1; done']}]`;
    const id = start({ kind: "jobspec", text }, { killGraceMs: 500 });
    await eventually(() => slurm.run("squeue", "--steps", "--noheader").includes(".0"), {
      what: "the step of srun",
    });
    executor.stop(id);
    expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
    await eventually(() => slurm.run("squeue", "--me", "--noheader") === "", {
      what: "the job to leave the queue",
    });
  });

  test("processes in their own sessions, and those without a parent, are killed too", async () => {
    const deaf = "trap '' TERM HUP; while :; do sleep 1; done";
    const text = `(setsid sh -c "${deaf}" ${bed.directory}/runs/ &); echo hi; ${deaf}`;
    const id = start(script(text), { killGraceMs: 500 });
    await eventually(async () => (await readNow(id)) === "hi\n", { what: "it to run" });
    executor.stop(id);
    expect((await endOfRun(executor, id)).end).toEqual({ kind: "stopped", signal: "SIGKILL" });
    expect(commandsIn(`${bed.directory}/runs/`)).toEqual([]);
    await allGo();
  });

  test("a Slurm that has lost its jobs: none runs twice, each end is reported correctly", async () => {
    const id = start(script("echo hi; sleep 8; exit 5"));
    const deaf = start(script("trap '' TERM; echo hi; while :; do sleep 1; done"));
    for (const each of [id, deaf]) {
      await eventually(async () => (await readNow(each)) === "hi\n", { what: "it to run" });
    }
    await slurm.stopController();
    await slurm.startController("-c");
    executor.stop(deaf);
    // Slurm itself ends processes on its nodes that it does not know.
    const { end } = await endOfRun(executor, id);
    expect(["vanished", "exited", "signalled"]).toContain(end.kind);
    expect(commandsIn(`${bed.directory}/runs/${id.jobId}.0.1/`)).toEqual([]);
    expect((await endOfRun(executor, deaf)).end.kind).toBe("stopped");
    expect(commandsIn(`${bed.directory}/runs/`)).toEqual([]);
    await allGo();
  });

  /** Processes of scripts below the directory: a stopped run leaves none. */
  const commandsIn = (directory: string): string[] =>
    // The rest of a wrapper whose command has ended exits within a second.
    processesIn(directory).filter((line) => !line.trimEnd().endsWith("/wrapper"));
  const allGo = (): Promise<unknown> =>
    eventually(() => processesIn(bed.directory).length === 0, { what: "the last wrapper to go" });

  const processesIn = (directory: string): string[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const line = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
          return line.includes(directory) ? [line] : [];
        } catch {
          return []; // it ended while we looked
        }
      });

  const readNow = async (id: RunId): Promise<string> => {
    const part = await executor.readOutput(id, "stdout", { offset: 0, maxBytes: 99, waitMs: 0 });
    return Buffer.from(part.data).toString();
  };

  test("a run in Slurm's queue can be stopped, and never begins", async () => {
    const needs = { cpu: 64_000 };
    await eventually(isRunning(start(script("sleep 100"), { needs })), { what: "one to run" });
    const id = start(script("true"), { needs });
    const array = [0, 1, 2].map((index) => ({ jobId: count + 1, index, attempt: 1 }));
    for (const each of array) {
      executor.start(aRequest(script("true"), { id: each, needs, arrayIndex: each.index }));
    }
    const isQueued = (): boolean =>
      slurm.run("squeue", "--me", "--noheader", "--states=PD", "--array").split("\n").length > 4;
    await eventually(isQueued, { what: "the others to be queued" });
    for (const each of [id, ...array]) executor.stop(each);
    for (const each of [id, ...array]) {
      const { end, startedAtMs } = await endOfRun(executor, each);
      expect({ end, startedAtMs }).toEqual({
        end: { kind: "stopped", signal: undefined },
        startedAtMs: undefined,
      });
    }
    count += 1;
  });

  test("a job that another user cancels counts neither as success nor as loss", async () => {
    const id = start(script("sleep 100"));
    await eventually(isRunning(id), { what: "it to run" });
    slurm.run("scancel", jobId());
    expect((await endOfRun(executor, id)).end).toEqual({ kind: "signalled", signal: "SIGTERM" });
  });

  test("while the controller is away nothing ends; when it is back all ends are reported", async () => {
    const ended = start(script("sleep 1; echo done"));
    await eventually(isRunning(ended), { what: "it to run" });
    await slurm.stopController();
    const later = start(script("echo later"));
    await eventually(() => exitsIn(bed.directory) === 1, { what: "the script to end" });
    expect(reportFor(executor, ended)?.kind).toBe("running");
    expect(reportFor(executor, later)).toBeUndefined();
    await slurm.startController();
    expect((await endOfRun(executor, ended)).end).toEqual(exited(0));
    expect((await endOfRun(executor, later)).end).toEqual(exited(0));
    expect((await readAll(executor, later, "stdout")).text).toBe("later\n");
  });
  const exitsIn = (directory: string): number =>
    [count - 1].filter((job) => existsSync(join(directory, `runs/${job}.0.1/exit`))).length;

  test("the files of a job show its end when Slurm has no record of it", async () => {
    const id = start(script("sleep 1; exit 4"));
    await eventually(isRunning(id), { what: "it to run" });
    await executor.close();
    await eventually(() => slurm.run("squeue", "--noheader", "--states=all", "--me") === "", {
      what: "Slurm to forget it",
      timeoutMs: 90_000,
    });
    executor = await bed.open();
    expect((await endOfRun(executor, id)).end).toEqual(exited(4));
  });

  describe("a jobspec", () => {
    const jobspec = (first: string): RunRequest["work"] => ({
      kind: "jobspec",
      text: `version: 1
resources: {one: {type: core, count: 1}}
tasks:
  - {name: build, command: [sh, -c, "${first}"], resources: one}
  - {name: run, command: [sh, -c, "cat built; echo $BUSBAR_ARRAY_INDEX >&2"], replicas: 3, resources: one, depends_on: [build]}
  - {name: report, command: [sh, -c, "echo reported"], resources: one, depends_on: [run]}
`,
    });

    test("runs each of its tasks after those it depends on, in one directory", async () => {
      const { end, stdout, stderr } = await run(jobspec("sleep 1; echo it >built; echo built"));
      expect(end).toEqual(exited(0));
      expect(stdout).toBe(
        "== build\nbuilt\n== run[0]\nit\n== run[1]\nit\n== run[2]\nit\n== report\nreported\n",
      );
      expect(stderr).toBe("0\n1\n2\n");
    });

    test("ends like the task that failed; its dependents never begin", async () => {
      const { end, stdout } = await run(jobspec("echo broken; exit 6"));
      expect(end).toEqual(exited(6));
      expect(stdout).toBe("== build\nbroken\n");
      expect(jobId()).toBe("");
    });

    test("is stopped as a whole", async () => {
      const id = start(jobspec("sleep 100"));
      await eventually(isRunning(id), { what: "it to run" });
      executor.stop(id);
      expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
      expect(jobId()).toBe("");
    });
  });

  test("outputs of ended runs can be read after the runs were dropped", async () => {
    const id = start(script("echo kept"));
    await endOfRun(executor, id);
    executor.forget(id);
    expect((await readAll(executor, id, "stdout")).text).toBe("kept\n");
    expect(readFileSync(join(bed.directory, "journal.ndjson"), "utf8")).toContain("forgotten");
  });
});

const tree = (type: string, amount: number) => ({
  type,
  count: amount,
  unit: undefined,
  isSlot: false,
  isExclusive: false,
  label: undefined,
  requires: [],
  with: [],
});
