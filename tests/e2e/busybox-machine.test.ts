import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { afterAll, describe, expect, test } from "vitest";

import { eventually } from "../../src/testing/eventually.ts";
import {
  aRequest,
  describeExecutorContract,
  endOfRun,
} from "../contract/executor/executor-contract.ts";
import {
  describeProcesses,
  sampleProcesses,
  shell,
} from "../contract/executor/process-behaviour.ts";
import { makeRemoteBed } from "../contract/executor/remote-bed.ts";
import { installBusybox } from "../support/busybox.ts";

// Small machines have only this: a shell and programs with fewer options than usual.
describe("a remote machine with only busybox", () => {
  const programs = installBusybox();
  afterAll(() => rmSync(programs, { recursive: true, force: true }));
  const makeBed = () => {
    const bed = makeRemoteBed(join(programs, "sh"));
    const open: typeof bed.open = ({ env = process.env, ...over } = {}) =>
      bed.open({ ...over, env: { ...env, PATH: programs, BUSBAR_KEY: undefined } });
    return { ...bed, open };
  };
  describeExecutorContract("the remote executor", sampleProcesses, makeBed);
  describeProcesses({
    makeBed,
    open: (bed, env) => bed.open({ env }),
    path: programs,
    words: {
      missing: () => "the working directory cannot be entered",
      noDirectory: () => "the working directory cannot be entered",
      hasCoreutils: false,
      knowsInterpreters: true,
    },
  });

  test("a child that has left the session of its run is ended when the end is recorded", async () => {
    const bed = makeBed();
    const executor = await bed.open();
    const file = join(bed.directory, "child");
    const text = `setsid sh -c 'echo $$ >"$0"; exec sleep 1000' "$1" </dev/null >/dev/null 2>&1 &
      while [ ! -s "$1" ]; do sleep 0.05; done`;
    const request = aRequest(shell(text, file));
    executor.start(request);
    await endOfRun(executor, request.id);
    const child = `/proc/${readFileSync(file, "utf8").trim()}`;
    expect(existsSync(child)).toBe(true);
    executor.forget(request.id);
    await eventually(() => !existsSync(child), { what: "the child to go" });
    await bed.dispose();
  });
});
