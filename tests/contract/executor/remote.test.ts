import { describe } from "vitest";
import { describeExecutorContract } from "./executor-contract.ts";
import { describeProcesses, sampleProcesses } from "./process-behaviour.ts";
import { makeRemoteBed, shells } from "./remote-bed.ts";

for (const path of shells)
  describe(`a remote machine with ${path}`, () => {
    const makeBed = () => makeRemoteBed(path);
    describeExecutorContract("the remote executor", sampleProcesses, makeBed);
    describeProcesses({
      makeBed,
      // The environment of the program there comes from its starter.
      open: (bed, env) => bed.open({ env: { ...env, BUSBAR_KEY: undefined } }),
      words: {
        missing: () => "the working directory cannot be entered",
        noDirectory: () => "the working directory cannot be entered",
        hasCoreutils: true,
        knowsInterpreters: true,
      },
    });
  });
