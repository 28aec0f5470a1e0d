import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ProcessExecutorOptions } from "../../../src/agent/executors/process/process-executor.ts";
import { runTagOf } from "../../../src/agent/executors/process/survivors.ts";
import { FakeCgroupFiles } from "../../../src/agent/executors/process/testing/fake-cgroup-files.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { isAlive } from "../../../src/testing/is-alive.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { makeCgroup, removeCgroup, whyNoCgroup } from "../../support/real-cgroup.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const MIB = 1_024 ** 2;
const needs = { cpu: 500, memory: 32 * MIB };
const shell = (text: string, ...more: string[]) =>
  ({ kind: "command", argv: ["/bin/sh", "-c", text, ...more] }) as const;

describeLaunchers("limits in a fake tree of control groups", (launcher) => {
  let bed: ProcessBed;
  let root: string;
  let files: FakeCgroupFiles;
  let executor: Executor;
  let options: Partial<ProcessExecutorOptions>;
  beforeEach(async () => {
    bed = makeProcessBed(launcher);
    root = mkdtempSync(join(tmpdir(), "busbar-fake-cgroups-"));
    files = new FakeCgroupFiles(root);
    options = { cgroupFiles: files, cgroup: root, enforce: ["memory", "cpu"] };
    executor = await bed.open(options);
    files.writes.length = 0;
    files.removed.length = 0;
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
    rmSync(root, { recursive: true, force: true });
  });
  const groupOf = (key: string): string => join(root, `busbar-${runTagOf(bed.directory)}`, key);

  test("limits are written before the command begins, and it begins in its group", async () => {
    const group = groupOf("1.0.1");
    const look = `cd "$0"; cat memory.max; echo; cat cpu.max; echo; cat cgroup.procs`;
    executor.start(aRequest(shell(look, group), { needs }));
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
    const { text } = await readAll(executor, ID, "stdout");
    expect(text.trim().split("\n")).toEqual([String(32 * MIB), "50000 100000", "0"]);
    expect(files.writes.map((line) => line.replace(/.*\//, ""))).toEqual([
      `memory.max=${32 * MIB}`,
      "memory.oom.group=1",
      "memory.swap.max=0",
      "cpu.max=50000 100000",
    ]);
    expect(files.removed).toEqual(["1.0.1"]);
    expect(existsSync(group)).toBe(false);
  });

  test("a KILL by the kernel at the memory limit is reported as such, any other is not", async () => {
    const group = groupOf("1.0.1");
    const work = shell('echo "oom_kill 1" >"$0/memory.events"; kill -KILL $$', group);
    executor.start(aRequest(work, { needs }));
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "out-of-memory",
      limitBytes: 32 * MIB,
    });
    const other = { ...ID, jobId: 2 };
    executor.start(aRequest(shell("kill -KILL $$"), { id: other, needs }));
    expect((await endOfRun(executor, other)).end).toEqual({ kind: "signalled", signal: "SIGKILL" });
  });

  test("a group that cannot be entered is a fault of the node, and nothing is executed", async () => {
    const make = files.make.bind(files);
    files.make = (path) => {
      make(path);
      rmSync(join(path, "cgroup.procs"));
      if (launcher !== "native") rmSync(path, { recursive: true }); // or append would make the file
    };
    executor.start(aRequest(shell(`: >${bed.directory}/executed`), { needs: {} }));
    const { end } = await endOfRun(executor, ID);
    expect(end).toEqual({
      kind: "node-fault",
      message: "a process could not enter its control group",
    });
    expect(existsSync(join(bed.directory, "executed"))).toBe(false);
  });

  test("a restarted agent keeps the group of an active run, and removes the others", async () => {
    executor.start(aRequest(shell("exec sleep 1000"), { needs }));
    const procs = join(groupOf("1.0.1"), "cgroup.procs");
    await eventually(() => files.read(procs)?.trim() === "0", { what: "it to be in its group" });
    await eventually(() => bed.isTaken("1.0.1") && bed.processes().length > 0, { what: "a start" });
    files.make(groupOf("9.0.1"));
    await bed.abandon(executor);
    executor = await bed.open(options);
    expect(files.list(join(groupOf("1.0.1"), ".."))).toEqual(["1.0.1"]);
    executor.stop(ID);
    expect((await endOfRun(executor, ID)).end.kind).toBe("stopped");
    expect(files.list(join(groupOf("1.0.1"), ".."))).toEqual([]);
  });

  test("processes of an ended run that cannot be ended are logged with their pids", async () => {
    await executor.close();
    const warnings: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const remove = files.remove.bind(files);
    files.remove = (path) => {
      if (path === groupOf("1.0.1")) throw Object.assign(new Error("busy"), { code: "EBUSY" });
      remove(path);
    };
    const clock = { nowMs: () => Date.now(), after: fastAfter };
    executor = await bed.open({ ...options, logger, clock });
    executor.start(aRequest(shell('echo 4711 >"$0/cgroup.procs"', groupOf("1.0.1")), { needs }));
    await endOfRun(executor, ID);
    await eventually(() => warnings.length > 0, { what: "the warning" });
    expect(warnings).toEqual([{ group: groupOf("1.0.1"), pids: [4711] }]);
  });
});

/** Delays count as a hundredth: fifty tries take no time. */
function fastAfter(delayMs: number, wake: () => void): () => void {
  const timer = setTimeout(wake, delayMs / 100);
  return () => clearTimeout(timer);
}

/** Skips a block where this machine lacks something, with the reason in its name. */
function describeIf(why: string | undefined, name: string, body: () => void): void {
  if (why === undefined) describe(name, body);
  else describe.skip(`${name} (skipped: ${why})`, body);
}

const whyNone = whyNoCgroup();
const whyNoMemory = whyNoCgroup("memory");
const whyNoCpu = whyNoCgroup("cpu");

describeLaunchers("real control groups", (launcher) => {
  let bed: ProcessBed;
  let cgroup: string;
  let executor: Executor;
  async function open(over: Partial<ProcessExecutorOptions> = {}): Promise<void> {
    executor = await bed.open({ cgroup, enforce: "available", ...over });
  }
  beforeEach(() => {
    bed = makeProcessBed(launcher);
    cgroup = whyNone === undefined ? makeCgroup() : "";
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
    await removeCgroup(cgroup);
  });
  const groups = (): string[] => {
    const at = join(cgroup, `busbar-${runTagOf(bed.directory)}`);
    return readdirSync(at, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  };
  const pidIn = async (id: RunId): Promise<number> => {
    const part = await executor.readOutput(id, "stdout", {
      offset: 0,
      maxBytes: 9,
      waitMs: 20_000,
    });
    return Number(Buffer.from(part.data).toString());
  };

  describeIf(whyNone, "ends of groups", () => {
    const hidden = "env -i setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done'";

    test("a child in its own session with a cleared environment ends with the run", async () => {
      await open();
      executor.start(aRequest(shell(`${hidden} & sleep 0.3`)));
      const pid = await pidIn(ID);
      expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
      await eventually(() => !isAlive(pid), { what: "the child to be gone" });
      await eventually(() => groups().length === 0, { what: "the group to be removed" });
    });

    test("also under a stop, after its grace period", async () => {
      await open();
      executor.start(aRequest(shell(`${hidden} & wait`), { killGraceMs: 100 }));
      const pid = await pidIn(ID);
      executor.stop(ID);
      expect((await endOfRun(executor, ID)).end.kind).toBe("stopped");
      expect(isAlive(pid)).toBe(false);
    });

    test("the next agent ends processes that stayed in a group while there was none", async () => {
      await open();
      executor.start(aRequest(shell(`${hidden} & wait`), { killGraceMs: 100 }));
      const pid = await pidIn(ID);
      await bed.abandon(executor);
      await open();
      expect(groups()).toEqual(["1.0.1"]);
      executor.stop(ID);
      expect((await endOfRun(executor, ID)).end.kind).toBe("stopped");
      expect(isAlive(pid)).toBe(false);
      expect(groups()).toEqual([]);
    });

    test("many runs leave no group", async () => {
      await open();
      const count = launcher === "native" ? 1_000 : 100;
      for (let jobId = 1; jobId <= count; jobId += 1) {
        executor.start(
          aRequest({ kind: "command", argv: ["/bin/true"] }, { id: { ...ID, jobId } }),
        );
      }
      for (let jobId = 1; jobId <= count; jobId += 1) {
        const { end } = await endOfRun(executor, { ...ID, jobId });
        expect(end).toEqual({ kind: "exited", exitCode: 0 });
      }
      await eventually(() => groups().length === 0, { what: "all groups to be removed" });
    });
  });

  describeIf(whyNoMemory, "memory", () => {
    test("300 MiB in a run of 32 MiB end it, with the reason", async () => {
      await open({ enforce: ["memory"] });
      const allocate = "head -c 300m /dev/zero | tail -n 1 | wc -c";
      executor.start(aRequest(shell(allocate), { needs }));
      const { end } = await endOfRun(executor, ID);
      expect(end).toEqual({ kind: "out-of-memory", limitBytes: 32 * MIB });
    });
  });

  describeIf(whyNoCpu, "cpu", () => {
    test("a tenth of a cpu with a quota uses little more than that", async () => {
      await open({ enforce: ["cpu"] });
      const spin = "timeout 2 sh -c 'while :; do :; done'";
      executor.start(aRequest(shell(spin), { needs: { cpu: 100 } }));
      const { usage } = await endOfRun(executor, ID);
      expect(usage?.cpuUs).toBeLessThan(600_000); // of 2 s of wall time
    });
  });
});

describe("memory per process", () => {
  const allocate = {
    kind: "command",
    argv: ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"],
  } as const;

  test("an allocation beyond the requested memory fails, one below it does not", async () => {
    const bed = makeProcessBed("native");
    const executor = await bed.open({ enforce: ["process-memory"] });
    executor.start(aRequest(allocate, { needs }));
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 1 });
    const other = { ...ID, jobId: 2 };
    executor.start(aRequest(allocate, { id: other, needs: { memory: 600 * MIB } }));
    expect((await endOfRun(executor, other)).end).toEqual({ kind: "exited", exitCode: 0 });
    await executor.close();
    await bed.dispose();
  });

  test.each(["perl", "spawn"] as const)(
    "%s cannot be enforced: the agent does not start",
    async (launcher) => {
      const bed = makeProcessBed(launcher);
      await expect(bed.open({ enforce: ["process-memory"] })).rejects.toThrow(/native launcher/);
      await bed.dispose();
    },
  );
});
