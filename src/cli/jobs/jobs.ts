import { type Command, Option } from "commander";
import type { JobFilterInit } from "../../client/messages.ts";
import { jobStateNames, type StateName, stateOf } from "../../client/state.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { anyOf, keyValue, notEmpty, wholeNumber } from "../flags.ts";
import { toCountRow, toJobRow } from "../json.ts";
import { collect } from "../pages.ts";
import { pastTime } from "../past-time.ts";
import { compareJobs, readSorted, sortFields, sortOrder } from "./sorted-jobs.ts";
import { listed, type RowsAnswer, shownRows } from "../formats/answers.ts";
import { addWatchFlag, rowsKept, watchList, type WatchFlag } from "../live/watch-list.ts";
import { COUNTS, countRows, JOBS, renderCounts } from "../render/jobs.ts";
import type { JobRow } from "../rows.ts";
import type { Session, Shell } from "../session.ts";

interface JobsFlags extends WatchFlag {
  readonly state?: readonly StateName[];
  readonly group?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly cluster?: string;
  readonly node?: string;
  readonly name?: string;
  readonly submittedBy?: string;
  readonly user?: string;
  readonly since?: number;
  readonly until?: number;
  readonly sort?: string;
  readonly limit: number;
  readonly all?: true;
  readonly count?: true;
}

const LIMIT_DEFAULT = 50;

export function declareJobs(command: Command, shell: Shell): void {
  const since = (flag: string) => pastTime(flag, () => shell.context.nowMs());
  addWatchFlag(command)
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
    .option("--user <name>", "the same as --submitted-by", notEmpty("--user"))
    .option("--since <time>", "only submitted since then: 2h, 9:00, 2026-11-17", since("--since"))
    .option("--until <time>", "only submitted before then", since("--until"))
    .addOption(
      new Option(
        "--sort <field[:desc]>",
        `sort by this field instead of newest first: ${sortFields.join(", ")}`,
      )
        .choices(sortFields.flatMap((field) => [field, `${field}:desc`]))
        .argParser(sortOrder("--sort")),
    )
    .option(
      "--limit <n>",
      "list at most this many",
      wholeNumber("--limit", { min: 1, max: limits.unfinishedJobsMax }),
      LIMIT_DEFAULT,
    )
    .option("--all", "list all, however many")
    .option("--count", "print only the number of jobs in each state (may be combined with --group)")
    .addHelpText(
      "after",
      `
Examples:
  busbar jobs --state pending,running
  busbar jobs --group nightly --label owner=ada --all
  busbar jobs --state failed -o name | xargs busbar rerun
  busbar jobs --user ada --since 2h --sort took:desc
  busbar jobs --watch
  busbar jobs --count`,
    )
    .action((flags: JobsFlags) =>
      shell.list(command, (session) => {
        if (flags.count === true) return countJobs(session, flags);
        return flags.watch === true ? watchJobs(session, flags) : listJobs(session, flags);
      }),
    );
}

async function listJobs(session: Session, flags: JobsFlags): Promise<RowsAnswer> {
  const { items, more } = await readJobs(session, flags, limitOf(flags));
  if (more && session.format === "table") {
    const [which, how] =
      flags.sort === undefined ? ["newest", "--limit or --all"] : ["first", "--limit"];
    await session.note(`these are the ${which} ${items.length}; see more with ${how}`);
  }
  return listed(JOBS, items, more);
}

const limitOf = ({ all, limit }: JobsFlags): number =>
  all === true ? Number.MAX_SAFE_INTEGER : limit;

async function readJobs(session: Session, flags: JobsFlags, limit: number) {
  const client = await session.client();
  const filter = toFilter(flags);
  const { sort } = flags;
  if (sort !== undefined) return readSorted(client, { filter, sort }, limit);
  return collect(limit, async (pageToken, wanted) => {
    const pageSize = Math.min(wanted, limits.pageSizeMax);
    const page = await client.listJobs({ filter, pageSize, pageToken });
    return { ...page, items: page.jobs.map(toJobRow) };
  });
}

function watchJobs(session: Session, flags: JobsFlags): Promise<number> {
  for (const flag of ["cluster", "node"] as const) {
    if (flags[flag] === undefined) continue;
    throw invalid(
      `--${flag}`,
      "cannot be combined with --watch: events of jobs do not name clusters and nodes",
    );
  }
  const limit = rowsKept(session, limitOf(flags));
  return watchList(session, {
    kind: JOBS,
    following: { jobs: true, ...(flags.group === undefined ? {} : { group: flags.group }) },
    async list() {
      const { items: rows, revision } = await readJobs(session, flags, limitOf(flags));
      return { rows, revision };
    },
    see: (event) => {
      if (event.case === "job") return { row: toJobRow(event.value) };
      const isJob = event.case === "removed" && event.value.kind === "job";
      return isJob ? { removed: event.value.id } : undefined;
    },
    revisionOf: (job) => job.revision,
    choose: (jobs) =>
      jobs
        .filter((job) => isWanted(job, flags))
        .sort((a, b) => compareJobs(a, b, flags.sort))
        .slice(0, limit),
  });
}

/** The watch has the events of all jobs of a group; this checks the rest of the filter. */
function isWanted(job: JobRow, flags: JobsFlags): boolean {
  const { state, group, label = {}, name, since = 0, until = Infinity } = flags;
  const submittedBy = userOf(flags);
  const { spec, submittedAtMs } = job;
  return (
    (state === undefined || state.some((each) => each === job.state)) &&
    submittedAtMs >= since &&
    submittedAtMs < until &&
    (group === undefined || spec.group === group) &&
    (name === undefined || spec.name === name) &&
    (submittedBy === undefined || job.submittedBy === submittedBy) &&
    Object.entries(label).every(([key, value]) => spec.labels?.[key] === value)
  );
}

function userOf({ submittedBy, user }: JobsFlags): string | undefined {
  if (submittedBy !== undefined && user !== undefined && submittedBy !== user) {
    throw invalid("--user", `"${user}" and "${submittedBy}" are two users; give one`);
  }
  return submittedBy ?? user;
}

function toFilter(flags: JobsFlags): JobFilterInit {
  const { state = [], label = {}, group, cluster, node, name, since, until } = flags;
  const labels = { ...label };
  return {
    states: state.map(stateOf),
    group,
    labels,
    cluster,
    node,
    name,
    submittedBy: userOf(flags),
    submittedFromMs: since === undefined ? undefined : BigInt(since),
    submittedBeforeMs: until === undefined ? undefined : BigInt(until),
  };
}

async function countJobs(session: Session, flags: JobsFlags): Promise<RowsAnswer> {
  const others = [
    "state",
    "label",
    "cluster",
    "node",
    "name",
    "submittedBy",
    "all",
    "watch",
  ] as const;
  for (const flag of others) {
    if (flags[flag] !== undefined) {
      const shown = flag === "submittedBy" ? "submitted-by" : flag;
      throw invalid(`--${shown}`, "cannot be combined with --count; only --group can");
    }
  }
  const client = await session.client();
  const row = toCountRow(await client.countJobs({ group: flags.group }));
  return {
    json: row,
    text: (page) => renderCounts(row, page),
    rows: shownRows(COUNTS, countRows(row)),
  };
}
