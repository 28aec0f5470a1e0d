import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { C_COMPILER } from "../../../native/compile.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import type { HostOrder } from "./executor-host.ts";
import { exited, idOf, linesOf, setUpLauncher, shell } from "./launcher-setup.ts";
import { describeWithCompiler, kill } from "./process-bed.ts";

describeWithCompiler("a launcher killed at one point of a run", () => {
  const setup = setUpLauncher("native");
  const points = [
    [1, "before the fork"],
    [2, "before the command's process is in the record"],
    [3, "before that process looks whether it may begin"],
    [4, "after the command began"],
    [5, "before the end is in the record"],
    [6, "before the zombie is reaped"],
    [7, "before the agent hears of the end"],
  ] as const;
  let programs: string;
  const hosts = new Set<number>();
  const programFor = (point: number): string => join(programs, String(point));

  beforeAll(() => {
    programs = mkdtempSync(join(tmpdir(), "busbar-crash-"));
    const source = join(import.meta.dirname, "../../../native/launcher.c");
    for (const [point] of points) {
      execFileSync(C_COMPILER, [`-DCRASH_AT=${point}`, "-o", programFor(point), source]);
    }
  }, 120_000);
  afterAll(() => rmSync(programs, { recursive: true }));
  afterEach(() => {
    for (const pid of hosts) kill(pid);
    hosts.clear();
  });

  const request = () =>
    aRequest(shell(`echo x >>${setup.path("executed")}; echo said; exit 9`), { id: idOf(1) });

  for (const [point, when] of points) {
    test(`${when}: it runs once and its end is reported`, async () => {
      await setup.executor.close();
      setup.executor = await setup.bed.open({ launcherProgram: programFor(point) });
      setup.executor.start(request());
      expect((await endOfRun(setup.executor, idOf(1))).end).toEqual(exited(9));
      expect(existsSync(setup.path("crashed"))).toBe(true);
      expect(linesOf(setup.path("executed"))).toEqual(["x"]);
      expect((await readAll(setup.executor, idOf(1), "stdout")).text).toBe("said\n");
    });

    test(`${when}, and the agent with it: it runs once, by the next agent if necessary`, async () => {
      await setup.executor.close();
      const host = spawn(
        process.execPath,
        [
          join(import.meta.dirname, "executor-host.ts"),
          setup.bed.directory,
          "native",
          programFor(point),
        ],
        { stdio: ["pipe", "pipe", "inherit"] },
      );
      if (host.pid !== undefined) hosts.add(host.pid);
      const gone = new Promise<void>((resolve) => host.once("exit", () => resolve()));
      await createInterface({ input: host.stdout })[Symbol.asyncIterator]().next();
      const order: HostOrder = { kind: "start", request: request() };
      host.stdin.write(`${JSON.stringify(order)}\n`);
      await eventually(() => existsSync(setup.path("crashed")), {
        what: "the launcher to be killed",
      });
      host.kill("SIGKILL");
      await gone;
      setup.executor = await setup.bed.open();
      setup.executor.start(request());
      expect((await endOfRun(setup.executor, idOf(1))).end).toEqual(exited(9));
      expect(linesOf(setup.path("executed"))).toEqual(["x"]);
      expect((await readAll(setup.executor, idOf(1), "stdout")).text).toBe("said\n");
    });
  }
});
