import { describe } from "vitest";

import { describeExecutorContract } from "./executor-contract.ts";
import { launchers, makeProcessBed } from "./process-bed.ts";
import { describeProcesses, sampleProcesses } from "./process-behaviour.ts";

for (const launcher of launchers)
  describe(`processes, launcher ${launcher}`, () => {
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
  });
