import { rmSync } from "node:fs";
import { join } from "node:path";

import { afterAll, describe } from "vitest";

import { describeExecutorContract } from "../contract/executor/executor-contract.ts";
import { describeProcesses, sampleProcesses } from "../contract/executor/process-behaviour.ts";
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
});
