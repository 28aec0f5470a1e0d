import type * as wire from "../client/messages.ts";
import { jsonOf } from "../wire/write-json.ts";
import type * as Rows from "./rows.ts";

// The wire's messages as the rows that `--output json` promises and tables show: their JSON.

export const toJobRow = (job: wire.Job): Rows.JobRow => jsonOf(job) as Rows.JobRow;

export const toTaskRow = (task: wire.Task): Rows.TaskRow => jsonOf(task);

export const toOfferedRow = (task: wire.OfferedTask): Rows.OfferedRow =>
  jsonOf(task) as Rows.OfferedRow;

export const toSubmittedRow = (job: wire.SubmittedJob): Rows.SubmittedRow => jsonOf(job);

export const toCountRow = (counts: wire.CountJobsResponse): Rows.CountRow =>
  jsonOf(counts) as Rows.CountRow;

export const toExplanationRow = (explanation: wire.Explanation): Rows.ExplanationRow =>
  jsonOf(explanation);

export const toTrialRow = (job: wire.TriedJob): Rows.TrialRow => jsonOf(job);

export const toNodeRow = (node: wire.Node): Rows.NodeRow => jsonOf(node) as Rows.NodeRow;

export const toGroupRow = (group: wire.Group): Rows.GroupRow => jsonOf(group) as Rows.GroupRow;

export const toServiceRow = (service: wire.Service): Rows.ServiceRow => jsonOf(service);

export const toInstanceRow = (instance: wire.Instance): Rows.InstanceRow => jsonOf(instance);

export const toStatsRow = (stats: wire.Stats): Rows.StatsRow => jsonOf(stats) as Rows.StatsRow;

export const toClusterRow = (cluster: wire.Cluster): Rows.ClusterRow => jsonOf(cluster);

export const toIssuedRow = (issued: wire.IssuedCredentials): Rows.IssuedRow => jsonOf(issued);

export const toSatisfyRow = (answer: wire.SatisfyResponse): Rows.SatisfyRow => ({
  satisfied: answer.ever.length > 0,
  ...jsonOf(answer),
});

/** Since when it is connected, or disconnected. */
export function toAgentRow(node: wire.Node): Rows.AgentRow {
  const isAway = node.state === "disconnected" || node.state === "lost";
  const sinceMs = isAway ? node.disconnectedAtMs : node.connectedAtMs;
  const { name, state, tasks } = node;
  return { name, state, tasks, ...(sinceMs === undefined ? {} : { sinceMs: Number(sinceMs) }) };
}

/** Undefined for an event without content, and for one that this version does not know. */
export function toEventRow(
  event: Pick<wire.WatchEvent, "revision" | "event">,
): Rows.EventRow | undefined {
  // A bookmark is for clients that resume; the client yields the events of a batch one by one.
  if (["bookmark", "batch", undefined].includes(event.event.case)) return undefined;
  return jsonOf({ $typeName: "busbar.v1.WatchEvent", ...event }) as Rows.EventRow;
}
