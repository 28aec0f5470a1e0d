import { expect, test } from "vitest";
import { missingSlurmVariables } from "./slurm-variables.ts";

test.each([
  [
    "#SBATCH -c2\n./fit in.$SLURM_ARRAY_TASK_ID",
    "reads SLURM_ARRAY_TASK_ID (here BUSBAR_ARRAY_INDEX):",
  ],
  ["#SBATCH -c2\nfit -n $SLURM_NTASKS -n ${SLURM_NTASKS}", "reads SLURM_NTASKS: only Slurm sets"],
  [
    "#SBATCH -c2\necho $SLURM_JOB_ID $SLURM_NTASKS",
    "SLURM_JOB_ID (here BUSBAR_JOB_ID), SLURM_NTASKS:",
  ],
])("%j", (script, warning) => expect(missingSlurmVariables(script)).toContain(warning));

test.each([
  ["a script without #SBATCH", "echo $SLURM_JOB_ID"],
  ["a script without such variables", "#SBATCH -c2\necho $MY_SLURM_JOB"],
  ["a script that has ours, too", "#SBATCH -c2\n${SLURM_ARRAY_TASK_ID:-$BUSBAR_ARRAY_INDEX}"],
  ["a variable of --env", "#SBATCH -c2\necho $SLURM_NTASKS"],
])("no warning for %s", (_, script) =>
  expect(missingSlurmVariables(script, { SLURM_NTASKS: "4" })).toBeUndefined(),
);
