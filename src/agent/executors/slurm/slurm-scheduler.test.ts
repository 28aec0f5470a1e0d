import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import type { LowerIds, LowerJob, LowerScheduler } from "../../lower/scheduler.ts";
import { runCommand } from "../../lower/command.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { createSlurmScheduler } from "./slurm-scheduler.ts";

let directory: string;
let slurm: LowerScheduler;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-fake-slurm-"));
  const env = { PATH: `${directory}:${process.env["PATH"]}` };
  slurm = createSlurmScheduler({ env, clock: new FakeClock() });
  for (const name of ["sbatch", "squeue", "sacct", "scancel"]) program(name, "exit 1");
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A stand-in that records its calls, and does what the test defines. */
function program(name: string, text: string): void {
  const path = join(directory, name);
  const note = `for each in "$@"; do printf '%s\\n' "$each"; done >>${path}.calls; cat >${path}.stdin`;
  writeFileSync(path, `#!/bin/sh\n${note}\n${text}\n`);
  chmodSync(path, 0o700);
}
const called = (name: string): string[] =>
  readFileSync(join(directory, `${name}.calls`), "utf8")
    .trim()
    .split("\n");
const says = (text: string): string => `cat <<'END'\n${text}\nEND`;

const SHAPE = {
  nodes: undefined,
  processes: 1,
  coresPerProcess: 0,
  gpusPerProcess: 0,
  memoryBytesPerProcess: 0,
  isExclusive: false,
};
const job = {
  marker: "busbar:x:1.0.1",
  name: "job",
  script: "#!/bin/sh\necho hi\n",
  directory: "/",
  timeLimitMs: undefined,
  killGraceMs: 5_000,
  shape: SHAPE,
  launch: "each-process" as const,
  indexes: undefined,
  after: [],
  stdout: "/o",
  stderr: "/e",
};

async function submitOne(each: LowerJob): Promise<LowerIds> {
  const [answer] = await slurm.submitAll([each]);
  if (answer?.kind === "taken") return answer.ids;
  throw answer?.error ?? new Error("no answer");
}

describe("submit", () => {
  test("runs a few commands in parallel for many jobs, and answers in the order of the jobs", async () => {
    // Each command waits until the maximum number runs: one by one none would end.
    const { lowerCommandsAtOnceMax: atOnce } = limits;
    program(
      "sbatch",
      `for each in "$@"; do case $each in --comment=*) me=\${each#--comment=};; esac; done
touch ${directory}/here.$me
while [ $(ls ${directory} | grep -c ^here) -lt ${atOnce} ]; do sleep 0.05; done
echo 1$me`,
    );
    const jobs = Array.from({ length: 2 * atOnce }, (_, at) => ({ ...job, marker: `${at}` }));
    const answers = await slurm.submitAll(jobs);
    expect(answers).toEqual(jobs.map((_, at) => ({ kind: "taken", ids: [`1${at}`] })));
  });

  test("does not call an absent controller for each of many jobs", async () => {
    program("sbatch", "echo Unable to contact slurm controller >&2; exit 1");
    const answers = await slurm.submitAll(Array.from({ length: 50 }, () => job));
    expect(answers.filter(({ kind }) => kind === "failed")).toHaveLength(50);
    const calls = called("sbatch").filter((word) => word === "--parsable").length;
    expect(calls).toBeLessThanOrEqual(limits.lowerCommandsAtOnceMax);
  });

  test("passes the script on stdin and returns an id for each element", async () => {
    program("sbatch", "echo 42");
    expect(await submitOne(job)).toEqual(["42"]);
    expect(readFileSync(join(directory, "sbatch.stdin"), "utf8")).toBe(job.script);
    expect(called("sbatch")).toContain("--comment=busbar:x:1.0.1");
    expect(await submitOne({ ...job, indexes: [0, 5] })).toEqual(["42_0", "42_5"]);
  });

  const failures: readonly [text: string, code: string][] = [
    ["echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1", "unavailable"],
    ["echo 'sbatch: error: Invalid account' >&2; exit 1", "invalid_argument"],
    ["kill -KILL $$", "unavailable"],
    ["echo what", "unavailable"],
  ];
  for (const [text, code] of failures) {
    test(`${text}: ${code}`, async () => {
      program("sbatch", text);
      await expect(submitOne(job)).rejects.toMatchObject({ code });
    });
  }
});

describe("poll", () => {
  test("calls squeue once for all jobs, and sacct for those that squeue does not list", async () => {
    program("squeue", says("1|RUNNING|None|0|100|NONE|x|\n9|RUNNING|None|0|100|NONE|x|"));
    program("sacct", says("2|COMPLETED|0:0|100|101|"));
    expect(await slurm.poll(["1", "2", "3"])).toEqual(
      new Map<string, unknown>([
        ["1", { kind: "running", startedAtMs: 100_000 }],
        [
          "2",
          {
            kind: "ended",
            startedAtMs: 100_000,
            endedAtMs: 101_000,
            end: { kind: "exited", exitCode: 0 },
          },
        ],
        ["3", { kind: "unknown" }],
      ]),
    );
    expect(called("squeue").filter((each) => each === "--me").length).toBe(1);
    expect(called("sacct")).toContain("--jobs=2,3");
  });

  test("without accounting, a job that squeue does not list is unknown, and sacct is not called again", async () => {
    program("squeue", "exit 0");
    program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    for (const id of ["1", "2"]) {
      expect(await slurm.poll([id])).toEqual(new Map([[id, { kind: "unknown" }]]));
    }
    expect(called("sacct").filter((each) => each.startsWith("--jobs="))).toEqual(["--jobs=1"]);
  });

  test("no job is given up while accounting does not answer", async () => {
    program("squeue", says("1|RUNNING|None|0|100|NONE|x|"));
    program("sacct", "echo 'sacct: error: Unable to contact slurmdbd' >&2; exit 1");
    const states = await slurm.poll(["1", "2"]);
    expect([...states.values()].map(({ kind }) => kind)).toEqual(["running", "queued"]);
  });

  test("an array that was cancelled in the queue no longer has elements", async () => {
    program("squeue", says("7|CANCELLED|None|0|100|100|x|"));
    const states = await slurm.poll(["7_0", "7_1"]);
    expect([...states.values()]).toMatchObject([
      { end: { kind: "cancelled" } },
      { end: { kind: "cancelled" } },
    ]);
  });

  test("while the controller is away all states stay unknown", async () => {
    program(
      "squeue",
      "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1",
    );
    await expect(slurm.poll(["1"])).rejects.toMatchObject({ code: "unavailable" });
  });
});

test("find: by comments, for arrays by index, in the queue and in accounting", async () => {
  program(
    "squeue",
    says(
      "1|RUNNING|None|0|100|NONE|a|\n2_0|RUNNING|None|0|1|NONE|b|\n2_2|PENDING|None|0|1|NONE|b|",
    ),
  );
  program(
    "sacct",
    says(
      "5|COMPLETED|0:0|100|101|c\n6_[3-4]|CANCELLED by 0|0:0|None|101|e\n2_0|RUNNING|0:0|1|Unknown|b",
    ),
  );
  const queries = [
    { marker: "a", indexes: undefined },
    { marker: "b", indexes: [0, 1, 2] },
    { marker: "c", indexes: undefined },
    { marker: "d", indexes: undefined },
    { marker: "e", indexes: [3, 4] },
  ];
  expect(await slurm.find(queries)).toEqual(
    new Map([
      ["a", ["1"]],
      ["b", ["2_0", undefined, "2_2"]],
      ["c", ["5"]],
      ["e", ["6_3", "6_4"]],
    ]),
  );
});

describe("cancel", () => {
  test("asks jobs to end, or kills them", async () => {
    program("scancel", "exit 0");
    await slurm.cancel(["1", "2_3"], "ask");
    const asked = "--quiet --state=PENDING 1 2_3 --quiet --signal=TERM --full 1 2_3".split(" ");
    expect(called("scancel")).toEqual(asked);
    await slurm.cancel(["1"], "kill");
    expect(called("scancel").slice(asked.length)).toEqual(
      "--quiet --state=PENDING 1 --quiet --signal=KILL --full 1 --quiet 1".split(" "),
    );
  });

  test("ignores jobs that have ended, but reports a controller that is away", async () => {
    program(
      "scancel",
      "echo 'scancel: error: Kill job error on job id 1: Invalid job id specified' >&2; exit 1",
    );
    await slurm.cancel(["1"], "ask");
    program("scancel", "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1");
    await expect(slurm.cancel(["1"], "ask")).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("a command of the scheduler", () => {
  const bounds = { env: { PATH: process.env["PATH"] } };
  test("that hangs is killed with its children", async () => {
    const run = runCommand("sh", ["-c", "sleep 100 & sleep 100"], { ...bounds, timeoutMs: 50 });
    await expect(run).rejects.toMatchObject({
      code: "unavailable",
      message: "sh did not answer in 50 ms",
    });
  });
  test("that prints too much is killed", async () => {
    const run = runCommand("sh", ["-c", "yes"], { ...bounds, outputBytesMax: 1_000 });
    await expect(run).rejects.toMatchObject({ message: expect.stringContaining("1000 bytes") });
  });
  test("that is missing, or does not read its input, fails", async () => {
    const run = runCommand("no-such-program", [], bounds);
    await expect(run).rejects.toMatchObject({ message: "no-such-program cannot be run" });
    const input = "x".repeat(1_000_000);
    expect(await runCommand("true", [], { ...bounds, input })).toMatchObject({ exitCode: 0 });
  });
});
