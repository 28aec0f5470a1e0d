import { describe, expect, test } from "vitest";

import { INDEX } from "../../lower/scheduler.ts";
import type { LowerJob } from "../../lower/scheduler.ts";
import { parseNodes } from "./nodes.ts";
import { parseSacct, parseSqueue } from "./queue.ts";
import { parseSbatch, ranges, sbatchArgs, slurmError } from "./sbatch.ts";
import { observationOf } from "./slurm-source.ts";
import { slurmEnv } from "./slurm.ts";
import type { SlurmJob } from "./states.ts";
import { toLowerState } from "./states.ts";

const aJob = (over: Partial<LowerJob> = {}): LowerJob => ({
  marker: "busbar:ab:1.0.1",
  name: "train",
  script: "#!/bin/sh\n",
  directory: "/d/runs/1.0.1",
  timeLimitMs: undefined,
  killGraceMs: 5_000,
  shape: {
    nodes: undefined,
    processes: 1,
    coresPerProcess: 0,
    gpusPerProcess: 0,
    memoryBytesPerProcess: 0,
    isExclusive: false,
  },
  launch: "each-process",
  indexes: undefined,
  after: [],
  stdout: "/d/runs/1.0.1/stdout",
  stderr: "/d/runs/1.0.1/stderr",
  ...over,
});

describe("sbatch", () => {
  test("a job that requests nothing", () => {
    expect(sbatchArgs(aJob(), {})).toEqual([
      "--parsable",
      "--no-requeue",
      "--export=ALL",
      "--job-name=train",
      "--comment=busbar:ab:1.0.1",
      "--chdir=/d/runs/1.0.1",
      "--input=/dev/null",
      "--output=/d/runs/1.0.1/stdout",
      "--error=/d/runs/1.0.1/stderr",
      "--open-mode=append",
      "--ntasks=1",
    ]);
  });

  const shape = {
    nodes: 2,
    processes: 8,
    coresPerProcess: 4,
    gpusPerProcess: 1,
    memoryBytesPerProcess: 4 * 2 ** 30,
    isExclusive: true,
  };
  const options: readonly [what: string, over: Partial<LowerJob>, want: readonly string[]][] = [
    [
      "a shape",
      { shape },
      "--nodes=2 --ntasks=8 --cpus-per-task=4 --gpus-per-task=1 --mem-per-cpu=1048576K --exclusive".split(
        " ",
      ),
    ],
    ["time is rounded up to seconds", { timeLimitMs: 3_600_001 }, ["--time=01:00:01"]],
    ["an array", { indexes: [0, 1, 2, 7] }, ["--array=0-2,7"]],
    [
      "what comes after an array comes after all of it",
      { after: ["5_0", "5_1", "6"] },
      ["--dependency=afterok:5:6", "--kill-on-invalid-dep=yes"],
    ],
    [
      "signs in paths are no patterns, but ours",
      { stdout: `/d%j/${INDEX}/stdout` },
      ["--output=/d%%j/%a/stdout"],
    ],
    ["names are one line", { name: "a\nb\tc" }, ["--job-name=a b c"]],
  ];
  for (const [what, over, want] of options) {
    test(what, () => {
      expect(sbatchArgs(aJob(over), {})).toEqual(expect.arrayContaining([...want]));
    });
  }

  test("the operator's options come last", () => {
    const choices = { partition: "gpu", account: "phys", extraArgs: ["--qos=low", "--requeue"] };
    const last = ["--partition=gpu", "--account=phys", "--qos=low", "--requeue"];
    expect(sbatchArgs(aJob(), choices).slice(-4)).toEqual(last);
  });

  test("the id is parsed with and without a cluster; any other text leaves it unknown", () => {
    expect(parseSbatch("123\n")).toBe("123");
    expect(parseSbatch("123;blue\n")).toBe("123");
    expect(() => parseSbatch("hello")).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test("ranges", () => {
    expect(ranges([3])).toBe("3");
    expect(ranges([0, 1, 3, 4, 5, 9])).toBe("0-1,3-5,9");
  });
});

describe("errors of Slurm's commands", () => {
  const cases: readonly [stderr: string, code: string, message: string][] = [
    [
      "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
      "unavailable",
      "sbatch: Batch job submission failed: Unable to contact slurm controller (connect failure)",
    ],
    ["slurm_load_jobs error: Socket timed out on send/recv operation", "unavailable", ""],
    [
      "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying",
      "unavailable",
      "",
    ],
    [
      "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "unavailable",
      "",
    ],
    ["", "unavailable", "sbatch: exit code 1"],
    [
      "sbatch: error: Batch job submission failed: Invalid job array specification",
      "exhausted",
      "",
    ],
    [
      "sbatch: error: invalid partition specified: gpu\nsbatch: error: Batch job submission failed: Invalid partition name specified",
      "invalid_argument",
      "sbatch: invalid partition specified: gpu; Batch job submission failed: Invalid partition name specified",
    ],
  ];
  for (const [stderr, code, message] of cases) {
    test(`${code}: ${stderr.slice(0, 60)}`, () => {
      const error = slurmError("sbatch", { exitCode: 1, stderr });
      expect(error.code).toBe(code);
      if (message !== "") expect(error.message).toBe(message);
    });
  }
});

describe("states", () => {
  const job = (over: Partial<SlurmJob>): SlurmJob => ({
    id: "7",
    state: "RUNNING",
    reason: "None",
    exitCode: 0,
    signal: 0,
    startedAtMs: 1_000,
    endedAtMs: 5_000,
    ...over,
  });
  const cases: readonly [over: Partial<SlurmJob>, want: object][] = [
    [
      { state: "PENDING", reason: "Priority" },
      { kind: "queued", reason: "Priority" },
    ],
    [{ state: "PENDING", reason: "JobHeldAdmin" }, { kind: "queued" }],
    [{ state: "CONFIGURING" }, { kind: "queued" }],
    [{ state: "REQUEUED" }, { kind: "queued" }],
    [{ state: "REQUEUE_HOLD" }, { kind: "queued" }],
    [{ state: "REQUEUE_FED" }, { kind: "queued" }],
    [{ state: "RESV_DEL_HOLD" }, { kind: "queued" }],
    [{ state: "SPECIAL_EXIT" }, { kind: "queued" }],
    [{ state: "SOMETHING_NEW" }, { kind: "queued" }],
    [{ state: "RUNNING" }, { kind: "running", startedAtMs: 1_000 }],
    [
      { state: "RUNNING", startedAtMs: undefined },
      { kind: "running", startedAtMs: 9_000 },
    ],
    [{ state: "COMPLETING" }, { kind: "running" }],
    [{ state: "SUSPENDED" }, { kind: "running" }],
    [{ state: "STOPPED" }, { kind: "running" }],
    [{ state: "SIGNALING" }, { kind: "running" }],
    [{ state: "RESIZING" }, { kind: "running" }],
    [{ state: "STAGE_OUT" }, { kind: "running" }],
    [
      { state: "COMPLETED" },
      { kind: "ended", startedAtMs: 1_000, endedAtMs: 5_000, end: { kind: "exited", exitCode: 0 } },
    ],
    [{ state: "FAILED", exitCode: 3 }, { end: { kind: "exited", exitCode: 3 } }],
    [{ state: "FAILED", signal: 9 }, { end: { kind: "signalled", signal: "SIGKILL" } }],
    [{ state: "FAILED", reason: "JobLaunchFailure" }, { end: { kind: "vanished" } }],
    [{ state: "TIMEOUT" }, { end: { kind: "time-limit", signal: "SIGTERM" } }],
    [{ state: "DEADLINE" }, { end: { kind: "time-limit", signal: undefined } }],
    [
      { state: "CANCELLED", signal: 15 },
      { startedAtMs: 1_000, end: { kind: "cancelled" } },
    ],
    [
      { state: "CANCELLED", startedAtMs: 5_000 },
      { startedAtMs: undefined, end: { kind: "cancelled" } },
    ],
    [
      { state: "CANCELLED", reason: "DependencyNeverSatisfied", startedAtMs: 5_000 },
      { startedAtMs: undefined, end: { kind: "skipped" } },
    ],
    [
      { state: "PENDING", reason: "DependencyNeverSatisfied" },
      { kind: "ended", startedAtMs: undefined, endedAtMs: 9_000, end: { kind: "skipped" } },
    ],
    [{ state: "OUT_OF_MEMORY" }, { end: { kind: "out-of-memory" } }],
    [{ state: "NODE_FAIL" }, { end: { kind: "vanished" } }],
    [{ state: "BOOT_FAIL" }, { end: { kind: "vanished" } }],
    [{ state: "LAUNCH_FAILED" }, { end: { kind: "vanished" } }],
    [{ state: "RECONFIG_FAIL" }, { end: { kind: "vanished" } }],
    [{ state: "PREEMPTED" }, { end: { kind: "vanished" } }],
    [{ state: "REVOKED" }, { end: { kind: "vanished" } }],
  ];
  for (const [over, want] of cases) {
    test(`${over.state} ${over.reason ?? ""}`, () => {
      expect(toLowerState(job(over), 9_000)).toMatchObject(want);
    });
  }
});

describe("the output of Slurm's commands", () => {
  test("squeue", () => {
    const output = [
      "1|FAILED|NonZeroExitCode|768|1794817864|1794817865|busbar:x:1.0.1|",
      "2_7|RUNNING|None|0|1794817864|NONE|a|b|",
      "3|FAILED|JobLaunchFailure|9|1794817864|1794817864|(null)|",
      "5_[1-3]|PENDING|BeginTime|0|1794821463|NONE|(null)|",
      "slurm_load_jobs: whatever",
      "",
    ].join("\n");
    const [first, second, third, fourth, ...others] = parseSqueue(output);
    expect(first).toEqual({
      id: "1",
      state: "FAILED",
      reason: "NonZeroExitCode",
      exitCode: 3,
      signal: 0,
      startedAtMs: 1_794_817_864_000,
      endedAtMs: 1_794_817_865_000,
      comment: "busbar:x:1.0.1",
    });
    expect(second).toMatchObject({ id: "2_7", endedAtMs: undefined, comment: "a|b" });
    expect(third).toMatchObject({ id: "3", exitCode: 0, signal: 9 });
    expect(fourth).toMatchObject({ id: "5", state: "PENDING" });
    expect(others).toEqual([]);
  });

  test("sacct", () => {
    const output = [
      "12|CANCELLED by 1000|0:15|1794817864|1794817865|busbar:x:1.0.1",
      "13_4|COMPLETED|0:0|1794817864|1794817865|",
      "14|PENDING|0:0|Unknown|Unknown|",
      "15_[0-2,7%4]|CANCELLED by 0|0:0|None|1794817865|",
      "16.batch|COMPLETED|0:0|1|2|",
    ].join("\n");
    expect(parseSacct(output)).toMatchObject([
      { id: "12", state: "CANCELLED", signal: 15, comment: "busbar:x:1.0.1" },
      { id: "13_4", state: "COMPLETED", exitCode: 0, comment: "" },
      { id: "14", startedAtMs: undefined, endedAtMs: undefined },
      { id: "15", state: "CANCELLED" },
    ]);
  });

  const NODES = [
    "NodeName=n1 Arch=x86_64 CPUAlloc=4 CPUTot=64 ActiveFeatures=fast,blue Gres=gpu:a100:4(S:0-1) OS=Linux 6 #1 SMP RealMemory=8000 AllocMem=1000 State=MIXED ThreadsPerCore=1 Partitions=main,gpu CfgTRES=cpu=64,mem=8000M,gres/gpu=4 AllocTRES=cpu=4,gres/gpu=1",
    "NodeName=n2 CPUAlloc=0 CPUTot=64 ActiveFeatures=(null) Gres=(null) RealMemory=8000 AllocMem=0 State=IDLE Partitions=main CfgTRES=cpu=64",
    "NodeName=n3 CPUAlloc=0 CPUTot=64 RealMemory=8000 AllocMem=0 State=IDLE+DRAIN Partitions=main",
    "NodeName=n4 CPUAlloc=0 CPUTot=64 RealMemory=8000 AllocMem=0 State=DOWN* Partitions=main",
    "NodeName=n5 CPUAlloc=0 CPUTot=64 RealMemory=8000 AllocMem=0 State=IDLE+CLOUD+POWERED_DOWN Gres=gpu:2,gpu:v100:1 Partitions=main",
  ].join("\n");

  test("scontrol show nodes", () => {
    const nodes = parseNodes(NODES);
    expect(nodes[0]).toEqual({
      name: "n1",
      cpus: 64,
      cpusAllocated: 4,
      memoryBytes: 8_000 * 2 ** 20,
      memoryAllocated: 1_000 * 2 ** 20,
      gpus: 4,
      gpusAllocated: 1,
      features: ["fast", "blue"],
      partitions: ["main", "gpu"],
      isUsable: true,
    });
    expect(nodes.map(({ isUsable }) => isUsable)).toEqual([true, true, false, false, true]);
    expect(nodes.map(({ gpus }) => gpus)).toEqual([4, 0, 0, 0, 3]);
  });

  test("free capacity is the free capacity of usable nodes", () => {
    expect(observationOf(parseNodes(NODES), ["PD", "R", "R", "CG", ""])).toEqual({
      state: {
        nodes_total: 5,
        nodes_up: 3,
        nodes_free: 2,
        cores_total: 320,
        cores_free: 188,
        gpus_free: 6,
        queue_length: 1,
        running: 2,
      },
      free: { cpu: 188_000, memory: 23_000 * 2 ** 20, gpu: 6, nodes: 2 },
    });
  });
});

test("jobs do not inherit the variables of the agent's own Slurm job or its settings", () => {
  const user = { HOME: "/home/ada", USER: "ada", SHELL: "/bin/sh" };
  const env = { ...user, PATH: "/bin", SLURM_CONF: "/c", SLURM_JOB_ID: "5", BUSBAR_KEY: "secret" };
  expect(slurmEnv(env)).toEqual({ ...user, PATH: "/bin", SLURM_CONF: "/c" });
});
