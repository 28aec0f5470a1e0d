import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ReportedProgress } from "../../../src/core/model/job/task-progress.ts";
import type { EndedReport, Executor, RunReport } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import {
  removeProgressDirectory,
  removeProgressLeftovers,
} from "../../../src/agent/runs/progress/progress-leftovers.ts";
import { identityOf } from "../../../src/agent/proc.ts";
import { progressDirectoryOf } from "../../../src/agent/runs/progress/progress-directory.ts";
import { runTagOf } from "../../../src/agent/executors/process/survivors.ts";
import { aRequest } from "./executor-contract.ts";
import { makeProcessBed, type ProcessBed } from "./process-bed.ts";

let bed: ProcessBed;
let executor: Executor;
const told: ReportedProgress[] = [];
const reports: RunReport[] = [];

async function open(): Promise<void> {
  executor = await bed.open();
  executor.onReport((_id, report) => reports.push(report));
  executor.onProgress?.((_id, progress) => told.push(progress));
}

beforeEach(async () => {
  bed = makeProcessBed("native");
  told.length = 0;
  reports.length = 0;
  await open();
});
afterEach(async () => {
  await executor.close();
  await bed.dispose();
});

const script = (text: string): void =>
  executor.start(aRequest({ kind: "script", text }, { id: { jobId: 1, index: 0, attempt: 1 } }));
const last = (): ReportedProgress | undefined => told.at(-1);
const ends = (): Promise<EndedReport> =>
  eventually(() => reports.find((one): one is EndedReport => one.kind === "ended"), {
    what: "the run to end",
    timeoutMs: 60_000,
  });
const comes = (percent: number): Promise<true> =>
  eventually(() => last()?.percent === percent, {
    what: () => `${percent} %, not ${JSON.stringify(told)}`,
  });
const go = (name: string): void => writeFileSync(join(bed.directory, name), "");
const until = (name: string): string =>
  `while [ ! -e "${join(bed.directory, name)}" ]; do sleep 0.02; done`;
/** The directory of the files of runs. */
const place = (): string => progressDirectoryOf(bed.directory, runTagOf(bed.directory));

describe("the progress of a run", () => {
  test("is reported by a file, in any way of writing, and its end has the last one", async () => {
    script(`echo "10 with >" > "$BUSBAR_PROGRESS_FILE"
${until("a")}
echo "20 with >>" >> "$BUSBAR_PROGRESS_FILE"
${until("b")}
exec 3>"$BUSBAR_PROGRESS_FILE"; echo "30.5% by a descriptor" >&3
${until("c")}
echo "40 last word" >&3`);
    await comes(10);
    go("a");
    await comes(20);
    go("b");
    await comes(30.5);
    go("c");
    expect((await ends()).progress).toEqual({ percent: 40, message: "last word" });
    expect(readdirSync(place())).toEqual([]);
  });

  test("a run that reports nothing has no file and no progress", async () => {
    script(`test ! -e "$BUSBAR_PROGRESS_FILE"`);
    const { end, progress } = await ends();
    expect(end).toEqual({ kind: "exited", exitCode: 0 });
    expect(progress).toBeUndefined();
    expect(told).toEqual([]);
  });

  test("the next agent reads progress that was written while no agent ran", async () => {
    script(`echo "10" > "$BUSBAR_PROGRESS_FILE"
${until("a")}
echo "60 alone" > "$BUSBAR_PROGRESS_FILE"
${until("b")}`);
    await comes(10);
    await executor.close();
    go("a");
    const file = join(place(), "1.0.1");
    await eventually(() => statSync(file).size === "60 alone\n".length, { what: "it wrote" });
    told.length = 0;
    await open();
    await comes(60);
    go("b");
    expect((await ends()).progress).toEqual({ percent: 60, message: "alone" });
  });

  test(
    "100,000 lines cost a few reads and a few reports, and the last one counts",
    { timeout: 120_000 },
    async () => {
      script(`i=0
while [ $i -lt 100000 ]; do i=$((i+1)); echo "$((i/1000)) line $i" > "$BUSBAR_PROGRESS_FILE"; done
${until("a")}`);
      const startedMs = performance.now();
      // Looks before may have found the file emptied and not yet written.
      await eventually(() => last()?.message === "line 100000", {
        what: "the last line",
        timeoutMs: 60_000,
      });
      go("a");
      const { progress } = await ends();
      expect(progress).toEqual({ percent: 100, message: "line 100000" });
      // One look in 250 ms at most.
      expect(told.length).toBeLessThanOrEqual((performance.now() - startedMs) / 250 + 2);
      expect(told.length).toBeGreaterThan(0);
    },
  );

  test("many lines at the end of a file that only grows are read from its end", async () => {
    script(`yes "50 the same again and again" | head -n 100000 >> "$BUSBAR_PROGRESS_FILE"
echo "70 at last" >> "$BUSBAR_PROGRESS_FILE"
${until("a")}
echo "80 after it was emptied" >> "$BUSBAR_PROGRESS_FILE"
${until("b")}`);
    await comes(70);
    const file = join(place(), "1.0.1");
    expect(statSync(file).size).toBeLessThan(70_000);
    go("a");
    await comes(80);
    go("b");
    await ends();
  });

  test("nonsense, links, pipes, folders and files of others do no harm", async () => {
    script(`cd "$(dirname "$BUSBAR_PROGRESS_FILE")"
printf '10 \\033[2Jgone\\n' > "$BUSBAR_PROGRESS_FILE"
${until("a")}
for line in 101 -5 NaN 1e1 x "" 40x; do echo "$line" > "$BUSBAR_PROGRESS_FILE"; sleep 0.02; done
head -c 100000 /dev/urandom | tr -d 0-9 > "$BUSBAR_PROGRESS_FILE"; sleep 0.3
rm -f "$BUSBAR_PROGRESS_FILE"; ln -s /etc/passwd "$BUSBAR_PROGRESS_FILE"; sleep 0.3
rm -f "$BUSBAR_PROGRESS_FILE"; mkfifo "$BUSBAR_PROGRESS_FILE"; sleep 0.3
rm -f "$BUSBAR_PROGRESS_FILE"; mkdir "$BUSBAR_PROGRESS_FILE"; sleep 0.3
rmdir "$BUSBAR_PROGRESS_FILE"
echo "99 nobody" > 9.0.1; echo "99" > ..x; mkdir folder; sleep 0.3
echo "20 still here" > "$BUSBAR_PROGRESS_FILE"
${until("b")}
rm -f "$BUSBAR_PROGRESS_FILE"`);
    await comes(10);
    expect(last()?.message).toBe("␛[2Jgone");
    go("a");
    await comes(20);
    expect(told).toHaveLength(2);
    expect(existsSync(join(place(), "9.0.1"))).toBe(false);
    go("b");
    expect((await ends()).progress).toEqual({ percent: 20, message: "still here" });
  });

  test("files of an earlier process that belong to no run are removed", async () => {
    await executor.close();
    mkdirSync(join(bed.directory, "progress"));
    writeFileSync(join(bed.directory, "progress", "5.0.1"), "50\n");
    expect(place()).toBe(join(bed.directory, "progress")); // the directory of an earlier process is kept
    await open();
    expect(readdirSync(place())).toEqual([]);
    expect(told).toEqual([]);
  });
});

describe("the place of the files", () => {
  test("is in shared memory, unless another user was there first, or there is none", () => {
    const other = join(bed.directory, "memory");
    mkdirSync(other);
    expect(progressDirectoryOf(bed.directory, "tag", other)).toBe(join(bed.directory, "progress"));
    expect(progressDirectoryOf(bed.directory, "tag", "/none")).toBe(
      join(bed.directory, "progress"),
    );
    const inMemory = progressDirectoryOf(bed.directory, `test-${process.pid}`);
    try {
      expect(statSync(inMemory).mode & 0o777).toBe(0o700);
      expect(progressDirectoryOf(bed.directory, `test-${process.pid}`)).toBe(inMemory);
      chmodSync(inMemory, 0o777);
      expect(progressDirectoryOf(bed.directory, `test-${process.pid}`)).toBe(
        join(bed.directory, "progress"),
      );
    } finally {
      expect(existsSync(`${inMemory}.agent`)).toBe(false);
      removeProgressDirectory(inMemory);
    }
  });
});

describe("leftovers of killed agents in shared memory", () => {
  const DEAD = { pid: process.pid, startTicks: "0" }; // that one began at boot
  const leave = (memory: string, tag: string, owner: object, ...files: string[]): string => {
    const path = join(memory, `busbar-progress-${tag}`);
    mkdirSync(path);
    for (const file of files) writeFileSync(join(path, file), "50\n");
    writeFileSync(`${path}.agent`, JSON.stringify(owner));
    return path;
  };

  test("are removed when no agent can need them, and nothing else is", () => {
    const memory = join(bed.directory, "memory");
    mkdirSync(memory);
    const data = bed.directory;
    const alive = { ...identityOf(process.pid), data };
    leave(memory, "empty", { ...DEAD, data });
    leave(memory, "unread", { ...DEAD, data }, "5.0.1");
    leave(memory, "unasked", { ...DEAD, data: join(data, "gone") }, "5.0.1");
    leave(memory, "alive", alive);
    leave(memory, "runs", { ...DEAD, data });
    leave(memory, "garbage", ["nobody"]);
    mkdirSync(join(memory, "busbar-progress-earlier")); // of an agent that did not record its identity
    const kept = ["alive", "garbage", "runs", "unread"].flatMap((tag) => [tag, `${tag}.agent`]);
    expect(removeProgressLeftovers(memory, () => new Set(["runs"]))).toBe(2);
    const names = [...kept, "earlier"].map((name) => `busbar-progress-${name}`);
    expect(readdirSync(memory).toSorted()).toEqual(names.toSorted());
    expect(removeProgressLeftovers("/none", () => new Set())).toBe(0);
  });

  test("are removed by the next agent that starts, unless a run of theirs is active", async () => {
    const tag = `test${process.pid}`;
    const own = { ...DEAD, data: join(bed.directory, "gone") };
    const free = leave("/dev/shm", `${tag}a`, own, "5.0.1");
    const used = leave("/dev/shm", `${tag}b`, own, "5.0.1");
    const env = { ...process.env, BUSBAR_RUN: `${tag}b.5.0.1` };
    const run = spawn("sleep", ["1000"], { env, stdio: "ignore" });
    try {
      await executor.close();
      await open();
      expect([free, `${free}.agent`, used].map((path) => existsSync(path))).toEqual([
        false,
        false,
        true,
      ]);
    } finally {
      run.kill("SIGKILL");
      for (const path of [free, used]) {
        rmSync(path, { recursive: true, force: true });
        rmSync(`${path}.agent`, { force: true });
      }
    }
  });

  test("an agent that closes without runs leaves nothing", async () => {
    const path = place();
    expect(existsSync(`${path}.agent`)).toBe(true);
    await executor.close();
    expect([path, `${path}.agent`].map((one) => existsSync(one))).toEqual([false, false]);
    await open();
  });
});
