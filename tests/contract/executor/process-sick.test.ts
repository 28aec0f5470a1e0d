import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import type { Executor, RunEnd } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";

const shell = (text: string) => ({ kind: "command", argv: ["sh", "-c", text] }) as const;

const canMount = ((): boolean => {
  const bed = makeProcessBed("spawn");
  try {
    mountSmall(bed.directory);
    execFileSync("umount", [bed.directory]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(bed.directory, { recursive: true, force: true });
  }
})();

/** A disk of 2 MiB. */
function mountSmall(directory: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", directory], { stdio: "ignore" });
}

describeLaunchers("a machine that cannot start processes", (launcher) => {
  let bed: ProcessBed;
  let data: string;
  let executor: Executor;
  let jobs = 0;

  beforeEach(() => {
    bed = makeProcessBed(launcher);
    data = join(bed.directory, "data");
    mkdirSync(data);
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });

  const open = async (): Promise<void> => {
    executor = await bed.open({ directory: join(data, "process") });
  };
  const begin = (text: string) => {
    jobs += 1;
    const request = aRequest(shell(text), { id: { jobId: jobs, index: 0, attempt: 1 } });
    executor.start(request);
    return request.id;
  };
  const run = async (text: string): Promise<RunEnd> => (await endOfRun(executor, begin(text))).end;
  const probe = (): Promise<string> =>
    executor.probe?.().then(
      () => "well",
      (error: unknown) => (error as Error).message,
    ) ?? Promise.reject(new Error("there is no probe"));

  test("a successful probe leaves nothing behind", async () => {
    await open();
    expect(await probe()).toBe("well");
    expect(executor.known()).toEqual([]);
    expect(await run("exit 3")).toEqual({ kind: "exited", exitCode: 3 });
  });

  test("its data directory is deleted, and recreated", async () => {
    await open();
    expect(await run("exit 3")).toEqual({ kind: "exited", exitCode: 3 });
    const mark = join(bed.directory, "began");
    const before = begin(`: >${mark}; sleep 1; exit 4`);
    await eventually(() => existsSync(mark), { what: "a run to begin" });
    rmSync(data, { recursive: true });
    const end = await run("exit 5");
    expect(end).toMatchObject({ kind: "node-fault" });
    expect(end).toHaveProperty("message", expect.stringContaining("the data directory is missing"));
    expect(await probe()).toBe(`the data directory is missing: ${data}`);
    mkdirSync(data);
    expect(await probe()).toBe("well");
    const after = begin("echo hello; exit 6");
    expect((await endOfRun(executor, after)).end).toEqual({ kind: "exited", exitCode: 6 });
    expect((await readAll(executor, after, "stdout")).text).toBe("hello\n");
    // Runs that were active meanwhile are not started again, whatever is known of them.
    const meanwhile = (await endOfRun(executor, before)).end;
    expect(["exited", "vanished"]).toContain(meanwhile.kind);
    await executor.close();
    await open(); // the journal was recreated too
    const known = executor.known().map(({ id }) => id.jobId);
    expect(known).toContain(after.jobId);
  });

  test("its data directory is moved away, and back", async () => {
    await open();
    expect(await run("true")).toEqual({ kind: "exited", exitCode: 0 });
    renameSync(data, `${data}.aside`);
    expect(await run("true")).toMatchObject({ kind: "node-fault" });
    expect(await probe()).toBe(`the data directory is missing: ${data}`);
    renameSync(`${data}.aside`, data);
    expect(await probe()).toBe("well");
    expect(await run("true")).toEqual({ kind: "exited", exitCode: 0 });
  });

  test.skipIf(!canMount)("its disk fills up, and is emptied (skipped without mount)", async () => {
    mountSmall(data);
    try {
      await open();
      expect(await run("echo hello")).toEqual({ kind: "exited", exitCode: 0 });
      const { bsize, bavail } = statfsSync(data);
      writeFileSync(join(data, "big"), Buffer.alloc(bsize * bavail));
      const ends = await Promise.all(Array.from({ length: 20 }, () => run("echo hello")));
      for (const end of ends) {
        expect(end.kind).toBe("node-fault");
        expect(end).toHaveProperty("message", expect.stringContaining("the disk is full"));
      }
      expect(await probe()).toContain("the disk is full");
      rmSync(join(data, "big"));
      expect(await probe()).toBe("well");
      expect(await run("echo hello")).toEqual({ kind: "exited", exitCode: 0 });
    } finally {
      await executor.close();
      execFileSync("umount", ["-l", data]);
    }
  });

  test.skipIf(launcher === "spawn")("its launchers may open no more files", async () => {
    await open();
    expect(await run("true")).toEqual({ kind: "exited", exitCode: 0 });
    const limit = (files: number): void => {
      for (const pid of [...bed.helpers("launcher"), ...bed.helpers("lane")]) {
        execFileSync("prlimit", ["--pid", String(pid), `--nofile=${files}:4096`]);
      }
    };
    limit(3);
    const end = await run("true");
    expect(end).toEqual({
      kind: "node-fault",
      message: expect.stringContaining("open no more files"),
    });
    expect(await probe()).toContain("open no more files");
    limit(4_096);
    expect(await probe()).toBe("well");
    expect(await run("true")).toEqual({ kind: "exited", exitCode: 0 });
  });

  test("missing resources that the work requests are the work's fault", async () => {
    await open();
    for (const argv of [["no-such-program"], ["/etc/passwd"]]) {
      jobs += 1;
      const id = { jobId: jobs, index: 0, attempt: 1 };
      executor.start(aRequest({ kind: "command", argv }, { id }));
      expect((await endOfRun(executor, id)).end.kind).toBe("could-not-start");
    }
    jobs += 1;
    const id = { jobId: jobs, index: 0, attempt: 1 };
    executor.start(aRequest(shell("true"), { id, cwd: "/no/such/directory" }));
    expect((await endOfRun(executor, id)).end.kind).toBe("could-not-start");
  });
});
