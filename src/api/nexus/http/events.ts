import { timestamp } from "../model/object.ts";
import { KINDS } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { type HttpAnswer, answer, type Exchange, textOf } from "./exchange.ts";
import type { ListHost } from "./lists.ts";

interface Happened {
  readonly reason: string;
  readonly message: string;
  readonly atMs: number;
  readonly type: "Normal" | "Warning";
}

/** Events of one job, for `kubectl describe`: when it began and ended, and why it is pending. */
export async function events(host: ListHost, { query, operations }: Exchange): Promise<HttpAnswer> {
  const wanted = new Map(
    (textOf(query, "fieldSelector") ?? "")
      .split(",")
      .map((term) => term.split("=", 2) as [string, string]),
  );
  const revision = String(host.reader.revision);
  const list = (items: readonly object[]): HttpAnswer =>
    answer({ kind: "EventList", apiVersion: "v1", metadata: { resourceVersion: revision }, items });
  const name = wanted.get("involvedObject.name");
  if (name === undefined || wanted.get("involvedObject.kind") !== "Job") return list([]);
  const [ref] = host.reader.tree.find(KINDS.Job, name);
  if (ref?.kind !== "Job") return list([]);
  const job = await operations.getJob(ref.job.id);
  const object = await host.reader.show(operations, ref);
  const happened: Happened[] = [
    {
      reason: "Submitted",
      message: `by ${job.submittedBy}`,
      atMs: job.submittedAtMs,
      type: "Normal",
    },
  ];
  const { startedAtMs, endedAtMs, reason, state } = job;
  if (startedAtMs !== undefined) {
    happened.push({
      reason: "Started",
      message: "its first task began",
      atMs: startedAtMs,
      type: "Normal",
    });
  }
  if (endedAtMs !== undefined) {
    const type = state === "succeeded" ? "Normal" : "Warning";
    happened.push({ reason: "Ended", message: reason ?? state, atMs: endedAtMs, type });
  } else if (startedAtMs === undefined) {
    const { summary, hints } = await operations.explainJob(ref.job.id);
    const message = [summary, ...hints].join("; ");
    happened.push({ reason: "Waiting", message, atMs: host.nowMs(), type: "Normal" });
  }
  return list(happened.map((one) => toEvent(object, one, revision)));
}

function toEvent(
  { apiVersion, kind, metadata }: NexusObject,
  happened: Happened,
  revision: string,
) {
  const { reason, message, type, atMs } = happened;
  const time = timestamp(atMs);
  const { name, uid } = metadata;
  return {
    kind: "Event",
    apiVersion: "v1",
    metadata: {
      name: `${name}.${reason.toLowerCase()}`,
      namespace: "default",
      uid: `${uid}-${reason.toLowerCase()}`,
      resourceVersion: revision,
      creationTimestamp: time,
    },
    involvedObject: { apiVersion, kind, name, uid },
    reason,
    message: message.slice(0, 1_024),
    source: { component: "busbar" },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    eventTime: null,
    reportingComponent: "busbar",
    reportingInstance: "",
  };
}
