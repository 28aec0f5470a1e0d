import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { identifyDirectory } from "../../../src/lib/files/directory-id.ts";
import type { Executor, RunRequest, SubmitDirectory } from "../../../src/ports/executor.ts";
import { aRequest, describeExecutorContract, endOfRun, readAll } from "./executor-contract.ts";
import { describeLaunchers, makeProcessBed, type ProcessBed } from "./process-bed.ts";
import { describeProcesses, sampleProcesses } from "./process-behaviour.ts";

describeLaunchers("processes", (launcher) => {
  const makeBed = () => makeProcessBed(launcher);
  describeExecutorContract("the process executor", sampleProcesses, makeBed);
  describeProcesses({
    makeBed,
    open: (bed, env) => bed.open({ env }),
    words: {
      missing: (path) => `the working directory does not exist: ${path}`,
      noDirectory: (path) => `the working directory is not a directory: ${path}`,
      hasCoreutils: true,
      knowsInterpreters: true,
    },
  });

  describe("the directory that the job was submitted from", () => {
    let bed: ProcessBed;
    let executor: Executor;
    let count = 0;
    beforeEach(async () => {
      bed = makeBed();
      executor = await bed.open({ env: process.env });
    });
    afterEach(async () => {
      await executor.close();
      await bed.dispose();
    });
    const submitted = { kind: "command", argv: ["./step.sh"] } as const;
    async function run(submitDirectory: SubmitDirectory, work: RunRequest["work"] = submitted) {
      const id = { jobId: (count += 1), index: 0, attempt: 1 };
      const request = aRequest(work, { id, submitDirectory, env: { BUSBAR_NODE: "w1" } });
      executor.start(request);
      const { end } = await endOfRun(executor, request.id);
      const [stdout, stderr] = await Promise.all([
        readAll(executor, request.id, "stdout"),
        readAll(executor, request.id, "stderr"),
      ]);
      return { end, stdout: stdout.text, stderr: stderr.text };
    }
    function makeOwn(): SubmitDirectory {
      const path = join(realpathSync(bed.directory), "my project");
      mkdirSync(path);
      writeFileSync(join(path, "step.sh"), "#!/bin/sh\npwd\n", { mode: 0o755 });
      return { path, id: identifyDirectory(path) ?? "" };
    }

    test("is the task's too, if this machine has that same directory", async () => {
      const own = makeOwn();
      const end = { kind: "exited", exitCode: 0 };
      expect(await run(own)).toEqual({ end, stdout: `${own.path}\n`, stderr: "" });
    });

    test("is replaced by a fresh one where it is different or missing, and a line says so", async () => {
      const own = makeOwn();
      const pwd = { kind: "script", text: "pwd" } as const;
      const other = await run({ ...own, id: `${own.id}1` }, pwd);
      expect(other.stdout).toMatch(/\/work[^/]*\n$/);
      const line = (why: string): string =>
        `busbar: ${own.path} ${why} on w1: running in a fresh directory\n`;
      expect(other.stderr).toBe(line("is another directory"));
      rmSync(own.path, { recursive: true });
      expect(await run(own, pwd)).toMatchObject({ stderr: line("does not exist") });
    });
  });

  test("output goes to the files that the job names", async () => {
    const bed = makeBed();
    const executor = await bed.open({ env: process.env });
    const cwd = join(bed.directory, "work here");
    mkdirSync(cwd);
    async function run(attempt: number, over: Partial<RunRequest>) {
      const id = { jobId: 7, index: 3, attempt };
      const work = { kind: "script", text: "echo out; echo err >&2; exit 3" } as const;
      executor.start(aRequest(work, { id, env: { BUSBAR_NODE: "w1" }, ...over }));
      const { end } = await endOfRun(executor, id);
      expect(end).toEqual({ kind: "exited", exitCode: 3 });
      const [stdout, stderr] = await Promise.all([
        readAll(executor, id, "stdout"),
        readAll(executor, id, "stderr"),
      ]);
      return [stdout.text, stderr.text];
    }
    const read = (name: string): string => readFileSync(join(cwd, name), "utf8");
    try {
      const named = { stdout: "logs/%j.%i-%a/%n 100%%.out", stderr: join(cwd, "err") };
      expect(await run(1, { cwd, outputFiles: named })).toEqual(["", ""]);
      expect(read("logs/7.3-1/w1 100%.out")).toBe("out\n");
      expect(read("err")).toBe("err\n");
      expect(await run(2, { cwd, outputFiles: { stdout: "", stderr: "err" } })).toEqual([
        "out\n",
        "",
      ]);
      expect(read("err")).toBe("err\n");
      await run(3, { cwd, outputFiles: { stdout: "both", stderr: "both" } });
      expect(read("both")).toBe("out\nerr\n");
      const [, told] = await run(4, { outputFiles: { stdout: "lost", stderr: "" } });
      expect(told).toMatch(/^busbar: lost .*busbar logs.*\nerr\n$/);
    } finally {
      await executor.close();
      await bed.dispose();
    }
  });

  test("an error for a removed output says when and why", async () => {
    const bed = makeBed();
    const executor = await bed.open({ keptBounds: { runsMax: 1, bytesMax: 1e6, ageMsMax: 1e6 } });
    try {
      for (const jobId of [1, 2]) {
        const id = { jobId, index: 0, attempt: 1 };
        executor.start(aRequest({ kind: "script", text: "echo out" }, { id }));
        await endOfRun(executor, id);
        executor.forget(id);
      }
      const how = { offset: 0, maxBytes: 100, waitMs: 0 };
      const read = executor.readOutput({ jobId: 1, index: 0, attempt: 1 }, "stdout", how);
      await expect(read).rejects.toThrow(
        /no output of run 1\.0\.1: it was removed at \d{4}-.* too many/,
      );
    } finally {
      await executor.close();
      await bed.dispose();
    }
  });

  test("the error about a missing program names the searched path", async () => {
    const bed = makeBed();
    const taskEnv = { PATH: "/usr/bin:/bin" }; // tasks do not have the agent's own
    const executor = await bed.open({ env: process.env, taskEnv });
    const refused = async (jobId: number, over: Partial<RunRequest>, ...argv: string[]) => {
      const id = { jobId, index: 0, attempt: 1 };
      executor.start(aRequest({ kind: "command", argv }, { id, ...over }));
      const { end } = await endOfRun(executor, id);
      return "message" in end ? end.message : end;
    };
    try {
      const missing = "program not found: ";
      expect(await refused(1, { cwd: "/tmp" }, "./nothing.sh")).toBe(
        `${missing}./nothing.sh; looked in /tmp`,
      );
      expect(await refused(2, {}, "a/b")).toBe(
        `${missing}a/b; looked in a fresh directory (--cwd names another)`,
      );
      expect(await refused(3, { env: { PATH: "/x:/y" } }, "prog")).toBe(
        `${missing}prog; looked in PATH=/x:/y`,
      );
      expect(await refused(4, {}, "prog")).toBe(`${missing}prog; looked in PATH=/usr/bin:/bin`);
    } finally {
      await executor.close();
      await bed.dispose();
    }
  });

  test("a task gets none of the agent's other variables", async () => {
    const bed = makeBed();
    const env = { PATH: process.env["PATH"], HOME: "/h", USER: "u", SHELL: "/s", SECRET: "s" };
    const executor = await bed.open({ env, taskEnv: { SITE: "lab" } });
    try {
      const work = { kind: "command", argv: ["env"] } as const;
      const request = aRequest(work, { env: { MINE: "1" } });
      executor.start(request);
      await endOfRun(executor, request.id);
      const { text } = await readAll(executor, request.id, "stdout");
      const names = text
        .trimEnd()
        .split("\n")
        .map((line) => line.split("=", 1)[0] ?? "");
      const ofTheShell = ["PWD", "SHLVL", "OLDPWD", "_"]; // the spawn launcher's wrapper sets these
      expect(names.filter((name) => !ofTheShell.includes(name)).toSorted()).toEqual([
        "BUSBAR_PROGRESS_FILE",
        "BUSBAR_RUN",
        "HOME",
        "MINE",
        "PATH",
        "SHELL",
        "SITE",
        "USER",
      ]);
    } finally {
      await executor.close();
      await bed.dispose();
    }
  });
});
