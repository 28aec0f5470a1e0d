import { type Command, Option } from "commander";
import type { JobFilterInit } from "../../client/messages.ts";
import { jobStateNames, type StateName, stateOf } from "../../client/state.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { anyOf, keyValue, notEmpty, wholeNumber } from "../flags.ts";
import { toCountRow, toJobRow } from "../json.ts";
import { collect } from "../pages.ts";
import { renderCounts, renderJobs } from "../render/jobs.ts";
import type { Answer, Session, Shell } from "../session.ts";

interface JobsFlags {
  readonly state?: readonly StateName[];
  readonly group?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly cluster?: string;
  readonly node?: string;
  readonly name?: string;
  readonly submittedBy?: string;
  readonly limit: number;
  readonly all?: true;
  readonly count?: true;
}

const LIMIT_DEFAULT = 50;

export function declareJobs(command: Command, shell: Shell): void {
  command
    .addOption(
      new Option("--state <states>", "only in these states, several with commas")
        .choices(jobStateNames)
        .argParser(anyOf("--state", jobStateNames)),
    )
    .option("--group <name>", "only of this group", notEmpty("--group"))
    .option("--label <key=value>", "only with this label (repeatable)", keyValue("--label"))
    .option("--cluster <name>", "only with tasks on this cluster", notEmpty("--cluster"))
    .option("--node <name>", "only with tasks on this node", notEmpty("--node"))
    .option("--name <name>", "only with this name", notEmpty("--name"))
    .option("--submitted-by <name>", "only submitted by this caller", notEmpty("--submitted-by"))
    .option(
      "--limit <n>",
      "list at most this many",
      wholeNumber("--limit", { min: 1, max: limits.unfinishedJobsMax }),
      LIMIT_DEFAULT,
    )
    .option("--all", "list all, however many")
    .option("--count", "print only how many there are in each state (may be combined with --group)")
    .addHelpText(
      "after",
      `
Examples:
  busbar jobs --state pending,running
  busbar jobs --group nightly --label owner=ada --all
  busbar jobs --count`,
    )
    .action((flags: JobsFlags) =>
      shell.run(command, (session) =>
        flags.count === true ? countJobs(session, flags) : listJobs(session, flags),
      ),
    );
}

async function listJobs(session: Session, flags: JobsFlags): Promise<Answer> {
  const client = await session.client();
  const filter = toFilter(flags);
  const limit = flags.all === true ? Number.MAX_SAFE_INTEGER : flags.limit;
  const { items, more } = await collect(limit, async (pageToken, wanted) => {
    const pageSize = Math.min(wanted, limits.pageSizeMax);
    const { jobs, nextPageToken } = await client.listJobs({ filter, pageSize, pageToken });
    return { items: jobs.map(toJobRow), nextPageToken };
  });
  if (more && session.format === "table") {
    await session.note(`these are the newest ${items.length}; see more with --limit or --all`);
  }
  return {
    json: more ? { jobs: items, more } : { jobs: items },
    text: (page) => (items.length === 0 ? "no jobs" : renderJobs(items, page)),
  };
}

function toFilter(flags: JobsFlags): JobFilterInit {
  const { state = [], label = {}, group, cluster, node, name, submittedBy } = flags;
  const labels = { ...label };
  return { states: state.map(stateOf), group, labels, cluster, node, name, submittedBy };
}

async function countJobs(session: Session, flags: JobsFlags): Promise<Answer> {
  const others = ["state", "label", "cluster", "node", "name", "submittedBy", "all"] as const;
  for (const flag of others) {
    if (flags[flag] !== undefined) {
      const shown = flag === "submittedBy" ? "submitted-by" : flag;
      throw invalid(`--${shown}`, "cannot be combined with --count; only --group can");
    }
  }
  const client = await session.client();
  const row = toCountRow(await client.countJobs({ group: flags.group }));
  return { json: row, text: (page) => renderCounts(row, page) };
}
