import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Clock } from "../../../ports/clock.ts";
import { runCommand } from "../../lower/command.ts";
import type { LowerScheduler, LowerState } from "../../lower/scheduler.ts";
import { submitEach } from "../../lower/submit-each.ts";
import type { QueuedJob } from "./queue.ts";
import { parseSacct, parseSqueue, sacctFor, sacctSince, SQUEUE } from "./queue.ts";
import type { SlurmChoices } from "./sbatch.ts";
import { parseSbatch, sbatchArgs, slurmError } from "./sbatch.ts";
import { toLowerState } from "./states.ts";

export interface SlurmOptions extends SlurmChoices {
  /** The environment of its commands and jobs. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** Runs one of Slurm's commands; throws AppError when it fails, see slurmError. */
export type RunSlurm = (
  program: string,
  args: readonly string[],
  input?: string,
) => Promise<string>;

export function createRunSlurm(env: Readonly<Record<string, string>>): RunSlurm {
  const all = { ...env, SLURM_TIME_FORMAT: "%s" }; // otherwise in the caller's time zone
  return async (program, args, input) => {
    // Jobs inherit sbatch's own environment.
    const own = program === "sbatch" ? env : all;
    const options = input === undefined ? { env: own } : { env: own, input };
    const result = await runCommand(program, args, options);
    if (result.exitCode !== 0) throw slurmError(program, result);
    return result.stdout;
  };
}

/** Slurm, through its commands. */
export function createSlurmScheduler(options: SlurmOptions): LowerScheduler {
  const { clock } = options;
  const run = createRunSlurm(options.env);
  const accounting = createAccounting(run);
  const queue = async (): Promise<readonly QueuedJob[]> => parseSqueue(await run("squeue", SQUEUE));

  const scancel = async (args: readonly string[]): Promise<void> => {
    await run("scancel", ["--quiet", ...args]).catch(ifGone);
  };

  /**
   * Slurm treats this as "cancel": TERM, and after its KillWait KILL to every process. KILL to the script alone would be faster, but leave
   * its command running where Slurm finds processes by their parents.
   */
  const kill = async (ids: readonly string[]): Promise<void> => {
    await scancel(["--signal=KILL", "--full", ...ids]);
    await scancel(ids);
  };

  return {
    name: "slurm",
    inside: {
      id: "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}",
      index: "$SLURM_ARRAY_TASK_ID",
    },

    writesIntoOutput: () => false,

    // Not every version passes the resources of one process on to srun.
    launcher: ({ processes, coresPerProcess }) => [
      "srun",
      `--ntasks=${processes}`,
      ...(coresPerProcess > 0 ? [`--cpus-per-task=${coresPerProcess}`] : []),
    ],

    submitAll: (jobs) =>
      submitEach(jobs, async (job) => {
        const id = parseSbatch(await run("sbatch", sbatchArgs(job, options), job.script));
        return job.indexes === undefined ? [id] : job.indexes.map((index) => `${id}_${index}`);
      }),

    async find(queries) {
      const found = new Map<string, (string | undefined)[]>();
      const jobs = [...(await queue()), ...((await accounting(sacctSince("now-30days"))) ?? [])];
      const byComment = Map.groupBy(jobs, ({ comment }) => comment);
      for (const { marker, indexes } of queries) {
        const ids = new Set(byComment.get(marker)?.map(({ id }) => id));
        if (ids.size === 0) continue;
        const array = ids.values().find((id) => !id.includes("_")); // of elements that never began
        const ofIndex = (index: number): string | undefined =>
          ids.values().find((id) => id.endsWith(`_${index}`)) ?? (array && `${array}_${index}`);
        found.set(marker, indexes?.map(ofIndex) ?? [...ids].slice(0, 1));
      }
      return found;
    },

    async poll(ids) {
      const nowMs = clock.nowMs();
      const states = new Map<string, LowerState>();
      const note = (jobs: readonly QueuedJob[]): void => {
        const byId = new Map(jobs.map((job) => [job.id, job]));
        for (const id of ids) {
          // Elements that never began have no record of their own: their array has one.
          const job = byId.get(id) ?? byId.get(id.split("_")[0] ?? "");
          if (job !== undefined && !states.has(id)) states.set(id, toLowerState(job, nowMs));
        }
      };
      note(await queue());
      const missing = ids.filter((id) => !states.has(id));
      for (let at = 0; at < missing.length; at += IDS_PER_CALL) {
        const some = missing.slice(at, at + IDS_PER_CALL);
        const answer = await accounting(sacctFor(some)).catch((error: unknown) => {
          // Other jobs are known, and these may be known once accounting answers.
          const reason = describeChain(error);
          for (const id of some) states.set(id, { kind: "queued", reason });
          return undefined;
        });
        note(answer ?? []);
      }
      for (const id of ids) if (!states.has(id)) states.set(id, { kind: "unknown" });
      return states;
    },

    async cancel(ids, how) {
      for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
        const some = ids.slice(at, at + IDS_PER_CALL);
        await scancel(["--state=PENDING", ...some]);
        if (how === "ask") await scancel(["--signal=TERM", "--full", ...some]);
        else await kill(some);
      }
    },
  };
}

const IDS_PER_CALL = 500;

/** Slurm reports errors for jobs that have ended; only an absent controller matters. */
function ifGone(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code === "unavailable") throw error;
}

/**
 * Calls sacct. undefined: this Slurm has no accounting, or none for this user, which is remembered. If it has accounting that does not
 * answer, the state of a job is unknown: that is no end.
 */
function createAccounting(run: RunSlurm) {
  let isThere = true;
  return async (args: readonly string[]): Promise<readonly QueuedJob[] | undefined> => {
    if (!isThere) return undefined;
    try {
      return parseSacct(await run("sacct", args));
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "unavailable";
      if (isAway && !/disabled|cannot be run/.test(error.message)) throw error;
      isThere = false;
      return undefined;
    }
  };
}
