import type { Command } from "commander";
import { AppError } from "../../lib/errors.ts";
import { addIfRevision, type ConditionFlags, jobOrTaskId } from "../flags.ts";
import { toJobRow } from "../json.ts";
import type { JobRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";

export function declareCancel(command: Command, shell: Shell): void {
  const readId = jobOrTaskId("<id>");
  addIfRevision(command)
    .argument(
      "<id...>",
      "jobs (17) or tasks (17.3)",
      (text, sofar: readonly string[] | undefined) => [...(sofar ?? []), readId(text)],
    )
    .option("--reason <text>", "say why; shown with the job")
    .addHelpText(
      "after",
      `
Running tasks get a TERM, and a KILL when they ignore it. Cancelling what has ended changes nothing.

Examples:
  busbar cancel 17
  busbar cancel 17.3 18 --reason "wrong input"
  busbar jobs --state pending --all -o json | jq -r '.jobs[].id' | xargs busbar cancel`,
    )
    .action((ids: readonly string[], flags: CancelFlags) =>
      shell.run(command, (session) => cancel(session, ids, flags)),
    );
}

interface CancelFlags extends ConditionFlags {
  readonly reason?: string;
}

interface Refused {
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** One refusal must not keep the others from being cancelled. */
async function cancel(
  session: Session,
  ids: readonly string[],
  { reason, ifRevision }: CancelFlags,
): Promise<Answer> {
  const client = await session.client();
  const jobs: JobRow[] = [];
  const lines: string[] = [];
  const errors: Refused[] = [];
  for (const id of ids) {
    try {
      const job = toJobRow(await client.cancelJob({ id, reason, ifRevision }));
      jobs.push(job);
      lines.push(describe(id, job));
    } catch (error) {
      if (ids.length === 1 || !(error instanceof AppError)) throw error;
      if (error.code === "unavailable") throw error;
      errors.push({ id, code: error.code, message: error.message });
      if (session.format === "table") await session.note(error.message);
    }
  }
  return {
    json: errors.length === 0 ? { jobs } : { jobs, errors },
    text: () => lines.join("\n"),
    exitCode: errors.length === 0 ? 0 : 1,
  };
}

/** A running task takes a moment to stop; the answer is the job as it was when it was asked to. */
function describe(id: string, job: JobRow): string {
  const { name } = job.spec;
  if (id.includes(".")) return `task ${id} (${name}) is being cancelled, unless it has ended`;
  return `job ${id} (${name}) is ${job.endedAtMs === undefined ? "being cancelled" : job.state}`;
}
