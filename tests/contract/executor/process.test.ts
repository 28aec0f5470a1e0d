import { expect, test } from "vitest";

import { aRequest, describeExecutorContract, endOfRun, readAll } from "./executor-contract.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";
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
