import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { SPACK_IOR } from "../../../src/core/jobspec/testing/documents.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";

const ID = { jobId: 1, index: 0, attempt: 1 };

describeLaunchers("a whole jobspec as processes", (launcher) => {
  let bed: ProcessBed;
  let executor: Executor;
  let tools = "";
  beforeEach(async () => {
    tools = mkdtempSync(join(tmpdir(), "busbar-tools-"));
    bed = makeProcessBed(launcher);
    executor = await bed.open({ env: { PATH: `${tools}:${process.env["PATH"] ?? ""}` } });
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
    rmSync(tools, { recursive: true, force: true });
  });

  const start = (text: string, env: Readonly<Record<string, string>> = {}): void =>
    executor.start(aRequest({ kind: "jobspec", text }, { id: ID, env }));

  test("a task with dependencies begins when they have succeeded", async () => {
    for (const [name, text] of [
      ["spack", '[ "$1" = load ] || touch $TOOLS/built; echo "spack $1"'],
      ["ior", "[ -e $TOOLS/built ] && echo measured"],
    ] as const) {
      writeFileSync(join(tools, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(tools, name), 0o755);
    }
    start(SPACK_IOR, { TOOLS: tools });
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
    const { text } = await readAll(executor, ID, "stdout");
    expect(text).toBe("== build\nspack install\n== ior\nspack load\nmeasured\n");
  });

  test("a stop ends all of its tasks, and waiting ones never begin", async () => {
    mkdirSync(join(tools, "ran"));
    const task = (name: string, more: string) =>
      `{name: ${name}, local: true, ${more}, command: [sh, -c, "touch ${tools}/ran/${name}; exec sleep 1000"]}`;
    start(
      `version: 1\ntasks: [${task("a", "attributes: {duration: 1h}")}, ${task("b", "replicas: 1")}, ${task("c", "depends_on: [a]")}]`,
    );
    await eventually(() => ["a", "b"].every((name) => existsSync(join(tools, "ran", name))), {
      what: "both to run",
    });
    executor.stop(ID);
    expect((await endOfRun(executor, ID)).end).toMatchObject({ kind: "stopped" });
    expect(existsSync(join(tools, "ran", "c"))).toBe(false);
  });

  test("an invalid jobspec does not start, with the reason", async () => {
    start("version: 1\ntasks: [{command: [x], resources: nothing}]");
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "could-not-start",
      message: expect.stringContaining('there is no resource named "nothing"'),
    });
  });

  test("one without tasks does not start, with the reason", async () => {
    start("version: 1\nresources: {ior: {type: node, count: 1}}");
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "could-not-start",
      message: expect.stringContaining("has nothing to run"),
    });
  });
});
