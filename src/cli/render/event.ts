import type { EventRow, JobRow, NodeRow, ServiceRow, TaskRow } from "../rows.ts";
import { countsText } from "./jobs.ts";
import { nodeReason } from "./nodes.ts";
import { clean, type TerminalPage, paint } from "./page.ts";
import { progressText, stateStyle } from "./values.ts";

/** One change in one line: "1042  task 17.3  running  on rack1-7". */
export function renderEvent(row: EventRow, page: TerminalPage): string {
  const parts = (kind: string, id: string, state: string, rest: string) =>
    [row.revision, `${kind} ${clean(id)}`, paint(state, stateStyle(state), page), clean(rest)]
      .filter((part) => part !== "")
      .join("  ");
  const { job, task, node, cluster, group, service, removed } = row;
  if (job !== undefined) return parts("job", job.id, job.state, aboutJob(job));
  if (task !== undefined) return parts("task", task.id, task.state, aboutTask(task));
  if (node !== undefined) return parts("node", node.name, node.state, aboutNode(node));
  if (group !== undefined)
    return parts(
      "group",
      group.name,
      "set",
      joined([`weight ${group.weight}`, by(group.changedBy)]),
    );
  if (service !== undefined) {
    const { generation, reason = "" } = service;
    const about = joined([wanted(service), `generation ${generation}`, reason]);
    return parts("service", service.name, service.state, about);
  }
  if (cluster !== undefined) {
    const said = cluster.state.map(({ key, value }) => `${key}=${String(value)}`);
    return parts("cluster", cluster.name, cluster.kind, said.join(" "));
  }
  if (removed !== undefined) return parts(removed.kind, removed.id, "removed", by(removed.by));
  return paint(`${row.revision}  watching`, "dim", page);
}

/** Of a workload callers name the instances, which its row does not count. */
const wanted = ({ replicas, template }: ServiceRow): string =>
  replicas === 0 && template?.workload !== undefined ? "" : `${replicas} wanted,`;

const aboutJob = (job: JobRow): string =>
  joined([
    job.spec.name,
    job.taskTotal > 1 ? `(${countsText(job.tasks)})` : "",
    job.state === "failed" ? exitText(job.exitCode) : "",
    progressText(job),
    job.reason ?? "",
    by(job.state === "pending" ? job.submittedBy : canceller(job)),
  ]);

/** Where the reason does not name it already. */
const canceller = ({ cancelledBy, reason }: JobRow): string | undefined =>
  cancelledBy !== undefined && reason?.includes(`by ${cancelledBy}`) === true
    ? undefined
    : cancelledBy;

const by = (name: string | undefined): string => (name === undefined ? "" : `by ${name}`);

const aboutTask = (task: TaskRow): string =>
  joined([
    task.node === undefined ? offeredTo(task) : `on ${task.node}`,
    task.attempt > 1 ? `attempt ${task.attempt}` : "",
    task.signal ?? (task.state === "failed" ? exitText(task.exitCode) : ""),
    progressText(task),
    task.reason ?? "",
  ]);

const exitText = (exitCode: number | undefined): string =>
  exitCode === undefined ? "" : `exit ${exitCode}`;

const offeredTo = ({ cluster }: TaskRow): string =>
  cluster === undefined ? "" : `to cluster ${cluster}`;

const aboutNode = (node: NodeRow): string =>
  joined([`${node.tasks} tasks`, nodeReason(node), by(node.drainedBy), lastChange(node)]);

/** Not "by": the event may be its agent's, which connects and disconnects. */
const lastChange = ({ drainedBy, changedBy }: NodeRow): string =>
  changedBy === undefined || changedBy === drainedBy ? "" : `last changed by ${changedBy}`;

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== "").join(" ");
