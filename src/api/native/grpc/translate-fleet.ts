import type * as wire from "../../../gen/busbar/v1/busbar_pb.ts";
import {
  BookmarkSchema,
  GroupSchema,
  ListGroupsResponseSchema,
  ListNodesResponseSchema,
  NodeSchema,
  PowerChangeSchema,
  PowerSchema,
  RemovedSchema,
  RemoveGroupResponseSchema,
  RemoveNodeResponseSchema,
  StatsSchema,
  SyncSchema,
  WatchEventSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { unreachable } from "../../../lib/invariant.ts";
import type { PowerView } from "../../../server/views/energy-views.ts";
import type * as views from "../../../server/views/views.ts";
import { toCluster } from "./translate-clusters.ts";
import { toService } from "./services/translate-services.ts";
import { toCounts, toJob, toTask, toUsage } from "./translate-jobs.ts";
import { message, wide, wideAll } from "../../grpc/calls/wire-message.ts";

// Converts answers of Operations about nodes, groups and totals to messages of the wire.

interface At {
  readonly revision: number;
}

export const toNode = (view: views.NodeView): wire.Node =>
  message(NodeSchema, {
    name: view.name,
    cluster: view.cluster,
    state: view.state,
    capacity: { ...view.capacity },
    used: { ...view.used },
    labels: { ...view.labels },
    tasks: view.tasks,
    held: view.held,
    heldMax: view.heldMax,
    taskMsMean: view.taskMsMean,
    connectedAtMs: wide(view.connectedAtMs),
    disconnectedAtMs: wide(view.disconnectedAtMs),
    drainReason: view.drainReason,
    drainedBy: view.drainedBy,
    changedBy: view.changedBy,
    sickness: view.sickness,
    sickAtMs: wide(view.sickAtMs),
    quarantine: view.quarantine,
    quarantinedAtMs: wide(view.quarantinedAtMs),
    probeAtMs: wide(view.probeAtMs),
    onLost: view.onLost,
    lostAfterMs: wide(view.lostAfterMs),
    clockOffsetMs: wide(view.clockOffsetMs),
    agentVersion: view.agentVersion,
    address: view.address,
    revision: wide(view.revision),
    isClusterAgent: view.isClusterAgent,
    facts: view.facts === undefined ? undefined : JSON.stringify(view.facts),
    power: view.power && toPower(view.power),
  });

const toPower = (view: PowerView): wire.Power =>
  message(PowerSchema, {
    watts: wide(view.watts),
    changes: view.changes.map(({ atMs, watts }) =>
      message(PowerChangeSchema, { atMs: wide(atMs), watts: wide(watts) }),
    ),
    greatestShare: wide(view.greatestShare),
    needsNoCommand: view.needsNoCommand,
    tickMs: view.tickMs,
    shares: view.shares,
    sharesMax: view.sharesMax,
    edges: view.edges,
  });

/** In a watch a group lacks the usage of its tasks. */
export const toGroup = (
  view: Omit<views.GroupView, "tasks" | "used"> & Partial<views.GroupView>,
): wire.Group =>
  message(GroupSchema, {
    name: view.name,
    weight: view.weight,
    owner: view.owner,
    runningTasksMax: wide(view.runningTasksMax),
    queuedTasksMax: wide(view.queuedTasksMax),
    pausedBy: view.pausedBy,
    changedBy: view.changedBy,
    tasks: view.tasks === undefined ? undefined : toCounts(view.tasks),
    used: { ...view.used },
    usage: toUsage(view.usage),
    revision: wide(view.revision),
  });

export const toStats = (view: views.StatsView): wire.Stats =>
  message(StatsSchema, {
    version: view.version,
    store: view.store,
    revision: wide(view.revision),
    uptimeMs: wide(view.uptimeMs),
    jobs: wideAll(view.jobs),
    tasks: toCounts(view.tasks),
    nodes: wideAll(view.nodes),
    capacity: { ...view.capacity },
    used: { ...view.used },
    watches: wide(view.watches),
    agentSessions: wide(view.agentSessions),
    memoryBytes: wide(view.memoryBytes),
    commits: wide(view.commits),
    commitMsMean: view.commitMsMean,
    commitMsMax: view.commitMsMax,
    commitMsP99: view.commitMsP99,
    placements: wide(view.placements),
    progressReports: wideAll(view.progressReports),
    placementsRefused: wide(view.placementsRefused),
    tasksEnded: wide(view.tasksEnded),
    heldBegun: wide(view.heldBegun),
    heldReturned: wide(view.heldReturned),
    usage: toUsage(view.usage),
  });

export const toWatchEvent = (view: views.WatchEventView): wire.WatchEvent =>
  message(WatchEventSchema, { revision: wide(view.revision), event: toEvent(view) });

function toEvent(view: views.WatchEventView): wire.WatchEvent["event"] {
  switch (view.kind) {
    case "sync":
      return { case: "sync", value: message(SyncSchema, {}) };
    case "bookmark":
      return { case: "bookmark", value: message(BookmarkSchema, {}) };
    case "job":
      return { case: "job", value: toJob(view.job) };
    case "task":
      return { case: "task", value: toTask(view.task) };
    case "node":
      return { case: "node", value: toNode(view.node) };
    case "cluster":
      return { case: "cluster", value: toCluster(view.cluster) };
    case "group":
      return { case: "group", value: toGroup(view.group) };
    case "service":
      return { case: "service", value: toService(view.service) };
    case "nexus": // this API cannot request it
      return { case: undefined };
    case "removed":
      return {
        case: "removed",
        value: message(RemovedSchema, { kind: view.what, id: view.id, by: view.by }),
      };
    default:
      return unreachable(view);
  }
}

export const toNodePage = (
  answer: At & { readonly nodes: readonly views.NodeView[]; readonly nextPageToken?: string },
): wire.ListNodesResponse =>
  message(ListNodesResponseSchema, {
    nodes: answer.nodes.map(toNode),
    nextPageToken: answer.nextPageToken,
    revision: wide(answer.revision),
  });

export const toGroups = (
  answer: At & { readonly groups: readonly views.GroupView[] },
): wire.ListGroupsResponse =>
  message(ListGroupsResponseSchema, {
    groups: answer.groups.map(toGroup),
    revision: wide(answer.revision),
  });

export const toNodeRemoved = (answer: At): wire.RemoveNodeResponse =>
  message(RemoveNodeResponseSchema, { revision: wide(answer.revision) });

export const toGroupRemoved = (answer: At): wire.RemoveGroupResponse =>
  message(RemoveGroupResponseSchema, { revision: wide(answer.revision) });
