import { CommanderError } from "commander";
import { AppError } from "../../lib/errors.ts";

/** Flags of sbatch and hq, and ours. */
const OF_SUBMIT: Readonly<Record<string, string>> = {
  "--time": "--time-limit",
  "-t": "--time-limit",
  "--job-name": "--name",
  "-J": "--name",
  "--cpus-per-task": "--cpu",
  "-c": "--cpu",
  "--gres": "--gpu",
  "-G": "--gpu",
  "--account": "--group",
  "-A": "--group",
  "--partition": "--cluster or --group",
  "-p": "--cluster or --group",
  "--qos": "--priority",
  "--dependency": "--after-ok",
  "-d": "--after-ok",
  "--nodelist": "--node",
  "-w": "--node",
  "--constraint": "--node-label",
  "-C": "--node-label",
  "--chdir": "--cwd",
  "-D": "--cwd",
  "--error": "--stderr",
  "-e": "--stderr",
  "--export": "--env or --export-env",
  "--wrap": "-- sh -c '...'",
  "--requeue": "--retries",
};

/** Of squeue, sacct and kubectl. */
const OF_JOBS: Readonly<Record<string, string>> = {
  "-u": "--user",
  "-t": "--state",
  "--states": "--state",
  "--starttime": "--since",
  "-S": "--since",
  "--endtime": "--until",
  "-E": "--until",
  "-A": "--all",
};

const TABLES = new Map([
  ["submit", OF_SUBMIT],
  ["run", OF_SUBMIT],
  ["jobs", OF_JOBS],
]);

/** An unknown flag that another tool has, with the name that it has here. Returns any other error unchanged. */
export function withMeantFlag(error: unknown, argv: readonly string[]): unknown {
  if (!(error instanceof CommanderError) || error.code !== "commander.unknownOption") return error;
  const [, flag = ""] = /'([^']+)'/.exec(error.message) ?? [];
  const [name = ""] = flag.split("=");
  const table = TABLES.get(argv.find((word) => TABLES.has(word)) ?? "");
  const meant = table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
  if (meant === undefined) return error;
  return new AppError("invalid_argument", `unknown option '${name}' (did you mean ${meant}?)`);
}
