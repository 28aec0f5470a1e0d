import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../../src/limits.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Executor, RunId, RunReport } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import { kill, realClock } from "./process-bed.ts";
import { shell } from "./process-behaviour.ts";
import { makeRemoteBed, type RemoteBed } from "./remote-bed.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const isStart = (argv: readonly string[]): boolean => argv[0] === "setsid";

/** Polls of unreported events take a hundredth of their time. */
const hurried: Clock = {
  nowMs: () => Date.now() * 100,
  after: (delayMs, wake) => realClock.after(delayMs / 100, wake),
};

describe("an unreliable far end", () => {
  let bed: RemoteBed;
  beforeEach(() => {
    bed = makeRemoteBed("/bin/sh");
  });
  afterEach(() => bed.dispose());
  const open = (over: Parameters<RemoteBed["open"]>[0] = {}): Promise<Executor> =>
    bed.open({ clock: hurried, ...over });

  test("an end that is never reported is found", async () => {
    const executor = await open();
    bed.shell().faults = { drops: isStart };
    executor.start(aRequest(shell("echo done; exit 7")));
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 7 });
    expect((await readAll(executor, ID, "stdout")).text).toBe("done\n");
  });

  test("a lost start is sent again, and runs once", async () => {
    const executor = await open();
    let lost = 2;
    bed.shell().faults = { ignores: (argv) => isStart(argv) && lost-- > 0 };
    executor.start(aRequest(shell("echo once")));
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
    expect((await readAll(executor, ID, "stdout")).text).toBe("once\n");
    expect(bed.shell().commands.filter(isStart).length).toBeGreaterThanOrEqual(3);
  });

  test("a start that arrives twice runs once", async () => {
    const executor = await open();
    const marks = join(bed.directory, "marks");
    const work = shell('echo x >>"$1"; sleep 0.3; exit 5', marks);
    executor.start(aRequest(work));
    const [command = []] = bed.shell().commands.filter(isStart);
    await Promise.all([bed.shell().exec(command), bed.shell().exec(command)]);
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 5 });
    expect((await readAll(executor, ID, "stdout")).text).toBe("");
    const { stdout } = await bed.shell().exec(["cat", marks]);
    expect(stdout).toBe("x\n");
  });

  test("a running run is known without an acknowledgement", async () => {
    const executor = await open();
    bed.shell().faults = { isSilentOnAccept: true };
    executor.start(aRequest(shell("sleep 1000")));
    await eventually(() => reportFor(executor, ID)?.kind === "running", { what: "it to run" });
    executor.stop(ID);
    expect((await endOfRun(executor, ID)).end.kind).toBe("stopped");
  });

  test("a late acknowledgement does not undo an end", async () => {
    const executor = await open();
    let accepted: (() => void) | undefined;
    const exec = bed.shell().exec.bind(bed.shell());
    bed.shell().exec = (argv, options) => {
      if (isStart(argv)) accepted = options?.onAccepted;
      return exec(argv, { ...options, onAccepted: () => undefined });
    };
    const reports: RunReport[] = [];
    executor.onReport((_, report) => reports.push(report));
    executor.start(aRequest(shell("exit 4")));
    const ended = await endOfRun(executor, ID);
    accepted?.();
    expect(reportFor(executor, ID)).toEqual(ended);
    expect(reports).toEqual([ended]);
  });

  test("a stop that overtakes its start: it never begins", async () => {
    const executor = await open();
    bed.shell().faults = { ignores: isStart };
    executor.start(aRequest(shell("echo began")));
    executor.stop(ID);
    const ended = await endOfRun(executor, ID);
    expect(ended).toMatchObject({ end: { kind: "stopped" }, startedAtMs: undefined });
    bed.shell().faults = {};
    const [command = []] = bed.shell().commands.filter(isStart);
    await bed.shell().exec(command);
    expect((await readAll(executor, ID, "stdout")).text).toBe("");
  });

  test("a killed wrapper: its leftover processes are ended, and the run has vanished", async () => {
    const executor = await open();
    executor.start(aRequest(shell("sleep 1000 & sleep 1000")));
    await eventually(() => bed.processes().length >= 3, { what: "its processes" });
    kill(bed.wrapperOf("1.0.1") ?? 0);
    expect((await endOfRun(executor, ID)).end.kind).toBe("vanished");
    expect(bed.processes()).toEqual([]);
    await bed.abandon(executor);
    const next = await open();
    expect(reportFor(next, ID)).toEqual(reportFor(executor, ID));
  });

  test("a claimed run gets time to record its process, and is then given up", async () => {
    const path = join(bed.directory, "1.0.1.state");
    writeFileSync(path, "");
    const opening = open({ clock: realClock });
    await eventually(() => bed.shell().ended.size >= 2, { what: "the first look" });
    const { pid } = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    const began = `terms 1 2 - sh\n${readFileSync(`/proc/${pid}/stat`, "utf8")}began 1.00\n`;
    writeFileSync(path, began);
    expect(reportFor(await opening, ID)).toEqual({ kind: "running", startedAtMs: 1 });
    expect(bed.processes()).toEqual([pid]); // it ends with the test
    writeFileSync(path, "");
    expect(reportFor(await open(), ID)).toMatchObject({ end: { kind: "vanished" } });
  });

  test("a run whose files were removed continues, is not run twice, and has vanished", async () => {
    const executor = await open();
    const marks = join(bed.directory, "marks");
    executor.start(aRequest(shell('echo x >>"$1"; sleep 1000', marks)));
    const looks = (): number => bed.shell().ended.size;
    const lookedAt = async (): Promise<void> => {
      const before = looks();
      await eventually(() => looks() > before + 1, { what: "it to be looked at" });
    };
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    await lookedAt();
    for (const name of readdirSync(bed.directory)) {
      if (name.startsWith("1.0.1.")) rmSync(join(bed.directory, name));
    }
    await lookedAt();
    expect(reportFor(executor, ID)?.kind).toBe("running");
    for (const pid of bed.processes()) kill(pid);
    expect((await endOfRun(executor, ID)).end.kind).toBe("vanished");
    expect((await bed.shell().exec(["cat", marks])).stdout).toBe("x\n");
  });

  test("a machine without setsid: failed starts have a reason", async () => {
    const executor = await open();
    bed.shell().env = { PATH: "/nowhere" };
    executor.start(aRequest({ kind: "command", argv: ["/bin/true"] }));
    const { end } = await endOfRun(executor, ID);
    expect(end).toMatchObject({ kind: "node-fault" });
  });

  test("the start script is installed again when it was removed", async () => {
    const executor = await open();
    for (const name of readdirSync(bed.directory)) rmSync(join(bed.directory, name));
    executor.start(aRequest(shell("exit 6")));
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 6 });
  });

  /** Each file there can have so many blocks of 512 bytes: like a disk that is full. */
  const fill = (blocks: number): void => {
    const there = bed.shell();
    const exec = there.exec.bind(there);
    const limited = `ulimit -f ${blocks}; trap '' XFSZ; exec "$@"`;
    there.exec = (argv, options) => exec(["/bin/sh", "-c", limited, "sh", ...argv], options);
  };

  test("nothing begins on a full disk, where its end could not be recorded", async () => {
    const executor = await open();
    fill(0);
    executor.start(aRequest(shell("echo began | cat >&2; exit 3")));
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "node-fault",
      message: expect.stringContaining("cannot write to"),
    });
  });

  test("a script that does not fit on the disk is not run in part", async () => {
    const executor = await open();
    fill(16);
    const text = `exit 5\n${"#".repeat(16_000)}\n`;
    executor.start(aRequest({ kind: "script", text }));
    expect((await endOfRun(executor, ID)).end).toMatchObject({ kind: "node-fault" });
  });

  test("stop ends processes that have left their group, and after the grace period those that ignore TERM", async () => {
    const executor = await open({ clock: realClock });
    const text = `trap '' TERM
      perl -e 'setpgrp; exec "sleep", "1000"' & perl -e '$| = 1; setpgrp; print "up"; sleep 1000' &
      wait; wait; sleep 1000`;
    executor.start(aRequest(shell(text), { killGraceMs: 200 }));
    await executor.readOutput(ID, "stdout", { offset: 0, maxBytes: 10, waitMs: 10_000 });
    executor.stop(ID);
    const { end } = await endOfRun(executor, ID);
    expect(end).toEqual({ kind: "stopped", signal: "SIGKILL" });
    expect(bed.processes()).toEqual([]);
  });

  test("at a time limit the whole session ends, even if the link is gone", async () => {
    const executor = await open({ clock: realClock });
    executor.start(aRequest(shell("sleep 1000 & sleep 1000"), { timeLimitMs: 600 }));
    await eventually(() => bed.processes().length >= 3, { what: "its processes" });
    await bed.abandon(executor);
    await eventually(() => bed.processes().length === 0, { what: "its processes to go" });
    const next = await open({ clock: realClock });
    expect((await endOfRun(next, ID)).end.kind).toBe("time-limit");
  });

  test("remaining processes of a command end with it", async () => {
    const executor = await open();
    executor.start(aRequest(shell("sleep 1000 & exit 0")));
    await endOfRun(executor, ID);
    await eventually(() => bed.processes().length === 0, { what: "its processes to go" });
  });

  test("every byte arrives, also of output that is no text", async () => {
    const executor = await open();
    const all = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
    const path = join(bed.directory, "bytes");
    writeFileSync(path, all);
    executor.start(aRequest({ kind: "command", argv: ["cat", path] }));
    await endOfRun(executor, ID);
    const parts: Uint8Array[] = [];
    for (let offset = 0; offset < all.length;) {
      const how = { offset, maxBytes: 100_001, waitMs: 0 };
      const { data } = await executor.readOutput(ID, "stdout", how);
      parts.push(data);
      offset += data.length;
      expect(data.length).toBeGreaterThan(0);
    }
    expect(Buffer.concat(parts).equals(all)).toBe(true);
  });

  test("output beyond the limit is cut while the run continues", async () => {
    const executor = await open();
    const outputLimitBytes = 10_000;
    const work = shell("head -c 20000 /dev/zero; sleep 1000");
    executor.start(aRequest(work, { outputLimitBytes }));
    const path = join(bed.directory, "1.0.1.stdout");
    const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    await eventually(() => size() === outputLimitBytes + 1, { what: "it to be cut" });
    executor.stop(ID);
    await endOfRun(executor, ID);
    const { text, truncated } = await readAll(executor, ID, "stdout");
    expect([text.length, truncated]).toEqual([outputLimitBytes, true]);
  });

  test("outputs of runs with recorded ends are retained within limits", async () => {
    const bounds = { runsMax: 2, bytesMax: 1_000, ageMsMax: 1_000_000_000 };
    const executor = await open({ keptBounds: bounds });
    for (const jobId of [1, 2, 3, 4]) {
      const id = { jobId, index: 0, attempt: 1 };
      executor.start(aRequest(shell("echo x"), { id }));
      await endOfRun(executor, id);
      executor.forget(id);
    }
    const left = (): string[] =>
      readdirSync(bed.directory)
        .filter((name) => name.endsWith(".state"))
        .toSorted();
    await eventually(() => left().length === 2, { what: "two to be left" });
    expect(left()).toEqual(["3.0.1.state", "4.0.1.state"]);
    await bed.abandon(executor);
    const next = await open({ keptBounds: { ...bounds, runsMax: 1 } });
    expect(left()).toEqual(["4.0.1.state"]);
    expect(next.known()).toEqual([]);
  });

  test("a directory that was left empty serves another run, any other does not", async () => {
    const executor = await open();
    const pwd = async (jobId: number, then: string): Promise<string> => {
      const id = { jobId, index: 0, attempt: 1 };
      executor.start(aRequest(shell(`pwd; ls -A; ${then}`), { id }));
      await endOfRun(executor, id);
      return (await readAll(executor, id, "stdout")).text;
    };
    const first = await pwd(1, "true");
    expect(await pwd(2, "touch .left")).toBe(first);
    const third = await pwd(3, "ln -s /nowhere dangling");
    expect(third).not.toBe(first);
    expect([first, third]).not.toContain(await pwd(4, "true"));
    // A directory that is not empty, though reported so, is emptied before it is used.
    const spare = await pwd(5, "true");
    writeFileSync(join(spare.trimEnd(), "stray"), "");
    expect(await pwd(6, "true")).toBe(spare);
  });

  test("old directories without a process in them are removed, others stay", async () => {
    const executor = await open();
    executor.start(aRequest(shell("sleep 1000")));
    const own = join(bed.directory, "work.1.1");
    await eventually(() => existsSync(own), { what: "its directory" });
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    const twoHoursAgo = new Date(Date.now() - 7_200_000);
    for (const name of ["work.old.1", "work.new.1"]) mkdirSync(join(bed.directory, name));
    for (const name of ["work.old.1", "work.1.1"]) {
      utimesSync(join(bed.directory, name), twoHoursAgo, twoHoursAgo);
    }
    await bed.abandon(executor);
    await open();
    const left = readdirSync(bed.directory).filter((name) => name.startsWith("work."));
    expect(left.toSorted()).toEqual(["work.1.1", "work.new.1"]);
  });

  test("the end carries the beginning of the output", async () => {
    const told: [RunId, string, string][] = [];
    const executor = await open({
      onHeads: (id, { stdout, stderr }) =>
        told.push([id, Buffer.from(stdout).toString(), Buffer.from(stderr).toString()]),
    });
    executor.start(aRequest(shell("echo 'the beginning of what it says'; echo oh >&2")));
    await endOfRun(executor, ID);
    expect(told).toEqual([[ID, "the beginning of what it", "oh\n"]]);
  });

  test("an end that came without the beginning of the output does not say that there is none", async () => {
    const other = { ...ID, jobId: 2 };
    let told = 0;
    const executor = await open({ onHeads: () => told++ });
    bed.shell().faults = { drops: isStart };
    executor.start(aRequest(shell("echo done")));
    await endOfRun(executor, ID);
    bed.shell().faults = {};
    executor.start(aRequest(shell("echo begun; sleep 1000"), { id: other }));
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    executor.stop(other);
    await endOfRun(executor, other);
    expect(told).toBe(0);
  });
});

test("the poll interval of a run is longer than the time for a claim", () => {
  expect(limits.remoteSurveyMs).toBeGreaterThan(limits.claimTimeoutMs);
});
