import { type Command, Option } from "commander";
import { stateOf } from "../../client/state.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { anyOf, type ConditionFlags, keyValue, notEmpty } from "../flags.ts";
import { collect } from "../pages.ts";
import type { JobRow } from "../rows.ts";
import type { Session, Shell } from "../session.ts";
import { addIds, changeEach, nameOf } from "./change-each.ts";

const OPEN_STATES = ["pending", "accepted", "running"] as const;

interface CancelFlags extends ConditionFlags {
  readonly reason?: string;
  readonly state?: readonly (typeof OPEN_STATES)[number][];
  readonly label?: Readonly<Record<string, string>>;
  readonly group?: string;
}

export function declareCancel(command: Command, shell: Shell): void {
  addIds(command, true)
    .option("--reason <text>", "say why; shown with the job")
    .addOption(
      new Option("--state <states>", "all jobs in these states, several with commas")
        .choices(OPEN_STATES)
        .argParser(anyOf("--state", OPEN_STATES)),
    )
    .option("--label <key=value>", "all jobs with this label (repeatable)", keyValue("--label"))
    .option("--group <name>", "all jobs of this group", notEmpty("--group"))
    .addHelpText(
      "after",
      `
Running tasks get TERM, and KILL after their grace time. Cancelling a job that has ended changes nothing.

Examples:
  busbar cancel 17
  busbar cancel 17.3 18 --reason "wrong input"
  busbar cancel --state pending --group nightly
  busbar cancel --label run=42`,
    )
    .action((ids: readonly string[] | undefined, flags: CancelFlags) =>
      shell.run(command, async (session) => {
        const { reason, ifRevision } = flags;
        const filter = (["state", "label", "group"] as const).find((name) => name in flags);
        if (filter !== undefined && ids !== undefined && ids.length > 0) {
          throw invalid(`--${filter}`, "cannot be combined with ids");
        }
        const named = ids === undefined || ids.length === 0 ? await found(session, flags) : ids;
        if (named !== ids && named.length === 0) {
          return { json: { jobs: [] }, text: () => "no job matches" };
        }
        return changeEach(session, named, {
          change: (client, id) => client.cancelJob({ id, reason, ifRevision }),
          describe,
        });
      }),
    );
}

/** The jobs that have not ended and that the flags select. */
async function found(
  session: Session,
  { state, label, group, ifRevision }: CancelFlags,
): Promise<readonly string[]> {
  if (state === undefined && label === undefined && group === undefined) {
    throw invalid("<id>", "is missing; name jobs or tasks, or give --state, --label or --group");
  }
  if (ifRevision !== undefined) throw invalid("--if-revision", "is for a job that is named");
  const client = await session.client();
  const filter = { states: (state ?? OPEN_STATES).map(stateOf), labels: { ...label }, group };
  const { items } = await collect(Number.MAX_SAFE_INTEGER, async (pageToken, wanted) => {
    const pageSize = Math.min(wanted, limits.pageSizeMax);
    const { jobs, nextPageToken } = await client.listJobs({ filter, pageSize, pageToken });
    return { items: jobs.map(({ id }) => id), nextPageToken };
  });
  return items;
}

/** A running task takes a moment to stop; the answer is the job at the time of the request. */
function describe(id: string, job: JobRow): string {
  const name = nameOf(id, job);
  if (id.includes(".")) return `${name} is being cancelled, unless it had already ended`;
  return `${name} is ${job.endedAtMs === undefined ? "being cancelled" : job.state}`;
}
