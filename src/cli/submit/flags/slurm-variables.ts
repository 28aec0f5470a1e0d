/** Variables that Slurm sets, and what agents set instead. */
const OURS: Readonly<Record<string, string>> = {
  SLURM_ARRAY_TASK_ID: "BUSBAR_ARRAY_INDEX",
  SLURM_ARRAY_TASK_COUNT: "BUSBAR_ARRAY_SIZE",
  SLURM_ARRAY_JOB_ID: "BUSBAR_JOB_ID",
  SLURM_JOB_ID: "BUSBAR_JOB_ID",
  SLURM_JOBID: "BUSBAR_JOB_ID",
  SLURM_JOB_NODELIST: "BUSBAR_NODE",
  SLURM_NODELIST: "BUSBAR_NODE",
  SLURMD_NODENAME: "BUSBAR_NODE",
  SLURM_SUBMIT_DIR: "PWD",
};

const VARIABLE = /\bSLURMD?_[A-Z_]+\b/g;

/**
 * A warning for a script of sbatch that reads variables of Slurm: they are empty on our nodes, and `in.$SLURM_ARRAY_TASK_ID` would be the
 * same file for every task. Undefined: it reads none, or each has a value by other means.
 */
export function missingSlurmVariables(
  script: string,
  env: Readonly<Record<string, string>> = {},
): string | undefined {
  if (!/^#SBATCH\s/m.test(script)) return undefined;
  const missing = [...new Set(script.match(VARIABLE))].filter((name) => {
    const ours = Object.hasOwn(OURS, name) ? OURS[name] : undefined;
    return !Object.hasOwn(env, name) && !(ours?.startsWith("BUSBAR_") && script.includes(ours));
  });
  if (missing.length === 0) return undefined;
  const words = missing.map((name) =>
    Object.hasOwn(OURS, name) ? `${name} (here ${OURS[name]})` : name,
  );
  return `warning: the script reads ${words.join(", ")}: only Slurm sets such variables`;
}
