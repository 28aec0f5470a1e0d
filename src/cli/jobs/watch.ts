import type { Command } from "commander";
import { isEnded } from "../../client/state.ts";
import { jobOrTaskId, notEmpty, wholeNumber } from "../flags.ts";
import { followEvents, type Following } from "./follow.ts";
import { toEventRow } from "../json.ts";
import { renderEvent } from "../render/event.ts";
import type { Session, Shell } from "../session.ts";

type KindFlags = Readonly<
  Partial<Record<"jobs" | "tasks" | "nodes" | "clusters" | "groups" | "services", true>>
>;

interface WatchFlags extends KindFlags {
  readonly group?: string;
  readonly after: number;
}

export function declareWatch(command: Command, shell: Shell): void {
  command
    .argument("[job]", "only this job, until it has ended", jobOrTaskId("[job]"))
    .option("--jobs", "show changes of jobs (default: everything)")
    .option("--tasks", "show changes of tasks")
    .option("--nodes", "show changes of nodes")
    .option("--clusters", "show changes of clusters")
    .option("--groups", "show changes of groups")
    .option("--services", "show changes of services")
    .option("--group <name>", "only of this group", notEmpty("--group"))
    .option(
      "--after <revision>",
      "begin after this revision; 0: now",
      wholeNumber("--after", { min: 0, max: Number.MAX_SAFE_INTEGER }),
      0,
    )
    .addHelpText(
      "after",
      `
Prints a line for each change until interrupted. This is the one command whose --output json is not
one value: it prints one JSON value per line.

Examples:
  busbar watch 17 --tasks
  busbar watch --nodes
  busbar watch --jobs --output json | jq -r '.job.state'`,
    )
    .action((job: string | undefined, flags: WatchFlags) =>
      shell.run(command, (session) => watch(session, job, flags)),
    );
}

async function watch(
  session: Session,
  jobId: string | undefined,
  flags: WatchFlags,
): Promise<number> {
  const { signal } = new AbortController();
  const shown = shownKinds(flags);
  const canAsk = jobId !== undefined;
  let askedState: number | undefined;
  for await (const followed of followEvents(session, toFollowing(jobId, flags), {
    signal,
    canAsk,
  })) {
    let event = followed;
    if (event.event.case === "ask") {
      const asked = await askFor(session, jobId ?? "");
      if (asked.event.value.state === askedState) continue;
      askedState = asked.event.value.state;
      event = asked;
    }
    if (!("revision" in event)) continue;
    const row = toEventRow(event);
    if (row === undefined) continue;
    if (shown(event.event.case)) await session.print(row, (page) => renderEvent(row, page));
    if (jobId === undefined) continue;
    if (event.event.case === "removed") return 0;
    if (event.event.case === "job" && isEnded(event.event.value.state)) return 0;
    // A job that ended before has no more events.
    if (event.event.case === "sync" && flags.after === 0 && (await hasEnded(session, jobId)))
      return 0;
  }
  return 0;
}

/** The end of a job is an event of the job, so these are needed even when only tasks are shown. */
const toFollowing = (jobId: string | undefined, flags: WatchFlags): Following => ({
  ...(jobId === undefined ? {} : { jobId }),
  ...(flags.group === undefined ? {} : { group: flags.group }),
  jobs: flags.jobs === true || (jobId !== undefined && isSome(flags)),
  tasks: flags.tasks === true,
  nodes: flags.nodes === true,
  clusters: flags.clusters === true,
  groups: flags.groups === true,
  services: flags.services === true,
  afterRevision: BigInt(flags.after),
});

const isSome = ({ jobs, tasks, nodes, clusters, groups, services }: KindFlags): boolean =>
  (jobs ?? tasks ?? nodes ?? clusters ?? groups ?? services) === true;

/** A watch of one job that shows only tasks also receives events of the job. */
function shownKinds(flags: KindFlags): (kind: string | undefined) => boolean {
  return (kind) => kind !== "job" || flags.jobs === true || !isSome(flags);
}

/** The present job in the form of an event. */
async function askFor(session: Session, id: string) {
  const job = await (await session.client()).getJob({ id });
  return { revision: job.revision, event: { case: "job" as const, value: job } };
}

async function hasEnded(session: Session, id: string): Promise<boolean> {
  const client = await session.client();
  return isEnded((await client.getJob({ id })).state);
}
