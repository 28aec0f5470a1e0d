import { afterAll, beforeAll, describe } from "vitest";

import { describeExecutorContract } from "../../contract/executor/executor-contract.ts";
import { makeSlurmBed } from "../../support/slurm-bed.ts";
import type { Slurm } from "../../support/slurm.ts";
import { startSlurm } from "../../support/slurm.ts";

const shell = (text: string, ...argv: string[]) =>
  ({ kind: "command", argv: ["/bin/sh", "-c", text, "sh", ...argv] }) as const;

describe("Slurm", () => {
  let slurm: Slurm | undefined;
  beforeAll(async () => {
    slurm = await startSlurm();
  });
  afterAll(async () => {
    await slurm?.stop();
  });

  describeExecutorContract(
    "the Slurm executor",
    {
      exiting: (exitCode) => shell(`exit ${exitCode}`),
      printing: (stdout, stderr) => shell('printf %s "$1"; printf %s "$2" >&2', stdout, stderr),
      endless: () => ({ kind: "command", argv: ["sleep", "1000"] }),
      counting: (line) => shell('echo "$1"; exec sleep 1000', line),
    },
    () => {
      if (slurm === undefined) throw new Error("Slurm is not up");
      return makeSlurmBed(slurm);
    },
  );
});
