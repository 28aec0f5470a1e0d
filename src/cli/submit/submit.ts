import type { Command } from "commander";
import type { BusbarClient } from "../../client/client.ts";
import { AppError } from "../../lib/errors.ts";
import { addHoldFlag } from "./job-dependencies.ts";
import { addJobFlags } from "./job-flags.ts";
import { toSubmittedRow } from "../json.ts";
import { clean } from "../render/page.ts";
import type { SubmittedRow } from "../rows.ts";
import { STRATEGIES } from "./select-flags.ts";
import { addWaitTimeout, checkTimeout } from "../changes/wait-timeout.ts";
import type { Answer, Session, Shell } from "../session.ts";
import {
  endedAtOnce,
  type Input,
  readInput,
  type SubmitFlags,
  submitInput,
} from "./submit-input.ts";

const HELP = `
A file of jobs is YAML or JSON: one job, a list of jobs, or several documents. Its keys are name,
group, labels, command, script, env, cwd, resources, request, select, placement, array, priority,
retries, timeLimit, killGrace, queueDeadline, outputLimit, dependsOn, hold and idempotencyKey:

  name: train
  command: [python3, train.py]
  resources: { cpu: 2, memory: 4GiB }
  timeLimit: 1h30m
  retries: 3
  dependsOn: [prepare, { afterany: cleanup }]

The output of busbar job --output json is such a file, too.

A jobspec of any dialect becomes one job per task; its group, labels, priority, placement and
selection may be set with flags.
${STRATEGIES}
--dry-run submits nothing, and exits 1 when a job would be rejected.
Each task of an array finds its index in $BUSBAR_ARRAY_INDEX.

Examples:
  busbar submit -- make -j4
  busbar submit --array 0-99 --cpu 0.5 --retries 2 -- ./step.sh
  busbar submit --after-ok build,test -- make ship
  busbar submit --require 'spack:name=ior,version>=3.3' --cpu 2 -- ior -a POSIX
  busbar submit --file jobs.yaml --wait
  busbar submit --jobspec workflow.yaml --select cheapest --dry-run
  id=$(busbar submit --quiet -- ./long.sh)`;

export function declareSubmit(command: Command, shell: Shell): void {
  command
    .usage("[options] [--] <command...>")
    .argument("[command...]", "the program and its arguments")
    .passThroughOptions() // words after the program's name belong to the program
    .option("-f, --file <file>", 'submit the jobs in this file ("-": standard input)')
    .option("--jobspec <file>", 'submit the tasks of this jobspec ("-": standard input)')
    .option("--dry-run", "only show where tasks would go now, and why others would wait")
    .option("--wait", "wait until all have ended; exit 1 unless all succeeded")
    .option("-q, --quiet", "print only the ids");
  addWaitTimeout(command);
  addJobFlags(command, shell.context);
  addHoldFlag(command);
  command.addHelpText("after", HELP).action((words: readonly string[], flags: SubmitFlags) =>
    shell.run(command, async (session) => {
      checkTimeout(flags);
      const input = await readInput(session, words, flags);
      if (flags.dryRun !== true) return submit(session, input, flags);
      const { dryRun } = await import("./dry-run.ts");
      return dryRun(session, input);
    }),
  );
}

async function submit(session: Session, input: Input, flags: SubmitFlags): Promise<Answer> {
  const client = await session.client();
  const isNew = await isNewGroup(client, flags.group);
  const { jobs, revision } = await submitInput(client, input);
  if (isNew) await session.note(`created group ${flags.group ?? ""}, which did not exist`);
  const rows = jobs.map(toSubmittedRow);
  await warn(session, rows);
  if (flags.wait !== true) {
    return {
      json: { jobs: rows, revision: Number(revision) },
      text: () => rows.map((row) => (flags.quiet === true ? row.id : describe(row))).join("\n"),
    };
  }
  // People see the ids at once: the wait may be long.
  if (session.format === "table") {
    const lines = rows.map((row) => (flags.quiet === true ? row.id : describe(row)));
    await session.print(undefined, () => lines.join("\n"));
  }
  const { waitAndTell } = await import("../changes/wait-command.ts");
  const mayHaveEnded = endedAtOnce(input, rows);
  return waitAndTell(session, rows, { revision, mayHaveEnded, timeoutMs: flags.timeout });
}

/** Requested before: a submission creates the groups that it names. */
export async function isNewGroup(
  client: BusbarClient,
  group: string | undefined,
): Promise<boolean> {
  if (group === undefined) return false;
  return client.countJobs({ group }).then(
    () => false,
    (error: unknown) => error instanceof AppError && error.code === "not_found",
  );
}

/** "job 3", "job 3 (train/fit)", "job 3 (submitted before)". */
function describe({ id, name, existed }: SubmittedRow): string {
  const more = [
    ...(name === undefined ? [] : [clean(name)]),
    ...(existed ? ["submitted before"] : []),
  ];
  return more.length === 0 ? `job ${id}` : `job ${id} (${more.join(", ")})`;
}

/** Prints the same warning for many jobs once. */
export async function warn(session: Session, rows: readonly SubmittedRow[]): Promise<void> {
  const jobsByWarning = new Map<string, string[]>();
  for (const { id, warning } of rows) {
    if (warning === undefined) continue;
    jobsByWarning.set(warning, [...(jobsByWarning.get(warning) ?? []), id]);
  }
  for (const [warning, [first = "", ...others]] of jobsByWarning) {
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    await session.note(`warning: job ${first}${more}: ${warning}`);
  }
}
