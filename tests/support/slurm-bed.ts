import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createSlurm } from "../../src/agent/executors/slurm/slurm.ts";
import type { Executor } from "../../src/ports/executor.ts";
import type { ExecutorBed } from "../contract/executor/executor-contract.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";
import { realClock } from "../contract/executor/process-bed.ts";
import type { Slurm } from "./slurm.ts";

export interface SlurmBed extends ExecutorBed {
  readonly directory: string;
  open(): Promise<Executor>;
}

/** A directory of runs over a real Slurm that nothing else uses. */
export function makeSlurmBed(slurm: Slurm, extraArgs: readonly string[] = []): SlurmBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-slurm-runs-"));
  return {
    directory,
    async open() {
      const env = { ...process.env, ...slurm.env };
      const how = { clock: realClock, logger: silentLogger, env, extraArgs };
      return (await createSlurm({ directory, cluster: "blue", ...how })).executor;
    },
    // The closest to kill -9 within one process; slurm-restart.test.ts has the real one.
    abandon: (executor) => executor.close(),
    async dispose() {
      slurm.run("scancel", "--me", "--signal=KILL", "--full", "--quiet");
      slurm.run("scancel", "--me", "--quiet");
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
