// A process that hosts an executor over Slurm and kills itself (SIGKILL) at one point, for tests: node slurm-host.ts DIRECTORY POINT NTH,
// with requests as JSON on stdin.
import { text } from "node:stream/consumers";

import { createSlurmScheduler } from "../../src/agent/executors/slurm/slurm-scheduler.ts";
import { slurmEnv } from "../../src/agent/executors/slurm/slurm.ts";
import { createLowerExecutor } from "../../src/agent/lower/lower-executor.ts";
import type { LowerScheduler } from "../../src/agent/lower/scheduler.ts";
import { submitEach } from "../../src/agent/lower/submit-each.ts";
import { toSteps } from "../../src/core/jobspec/write/to-steps.ts";
import type { RunRequest } from "../../src/ports/executor.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";
import { realClock } from "../contract/executor/process-bed.ts";

/** Before the call of the scheduler, during it, or when it has answered. */
export const deathPoints = ["before-submit", "in-submit", "after-submit", "after-poll"] as const;
export type DeathPoint = (typeof deathPoints)[number];

const [directory = "", point = "", nth = "1"] = process.argv.slice(2);
let left = Number(nth);

function passing(here: DeathPoint): void {
  if (point !== here) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, "SIGKILL");
}

const slurm = createSlurmScheduler({ env: slurmEnv(process.env), clock: realClock });
const scheduler: LowerScheduler = {
  ...slurm,
  submitAll: (jobs) =>
    submitEach(jobs, async (job) => {
      passing("before-submit");
      const answers = slurm.submitAll([job]);
      // The program has been started; its effects happen after our death.
      passing("in-submit");
      const [answer] = await answers;
      passing("after-submit");
      if (answer?.kind === "taken") return answer.ids;
      throw answer?.error ?? new Error("no answer");
    }),
  async poll(ids) {
    const states = await slurm.poll(ids);
    passing("after-poll");
    return states;
  },
};
const executor = await createLowerExecutor({
  directory,
  scheduler,
  toSteps,
  clock: realClock,
  logger: silentLogger,
});
for (const request of JSON.parse(await text(process.stdin)) as RunRequest[])
  executor.start(request);
