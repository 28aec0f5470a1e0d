import type { Operations } from "../../../server/operations/operations.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import { isOver } from "../model/project.ts";
import type { EnergyJobView } from "../model/views.ts";
import { limits } from "../../../limits.ts";
import { Rates } from "./rates.ts";
import { Tree } from "./tree.ts";

export interface OpenTree {
  readonly tree: Tree;
  readonly rates: Rates;
  /** The revision of the state that the tree shows: it applies events in slices. */
  readonly revision: () => number;
  /** Resolves when the tree shows all that is durable by now. */
  readonly caughtUp: () => Promise<void>;
  close(): void;
}

/** Reads the current state, and applies later events. */
export async function openTree(operations: Operations, nowMs: () => number): Promise<OpenTree> {
  const tree = new Tree(nowMs());
  const rates = new Rates();
  const early: WatchEventView[] = [];
  let hear = (event: WatchEventView): void => void early.push(event);
  // Begins before any read: events that arrive meanwhile are applied again afterwards.
  const follower = operations.follow((event) => hear(event));
  try {
    await readAll(operations, tree);
  } catch (error) {
    follower.close();
    throw error;
  }
  hear = (event) => applyEvent(tree, event, () => rates.add(nowMs()));
  for (const event of early) hear(event);
  return {
    tree,
    rates,
    revision: () => follower.revision,
    caughtUp: () => follower.caughtUp(),
    close: () => follower.close(),
  };
}

async function readAll(operations: Operations, tree: Tree): Promise<void> {
  // Versions of objects without their own row, or with several, begin with the revision of the start: they never decrease.
  const { notes, revision } = await operations.listNotes();
  tree.sinceRevision = Math.max(1, revision);
  for (const note of notes) tree.notes.put({ ...note, revision });
  const pageSize = limits.pageSizeMax;
  const { clusters } = await operations.listClusters();
  for (const { name, createdAtMs } of clusters) {
    tree.putSite({ name, createdMs: createdAtMs, revision }, 0);
  }
  const { groups } = await operations.listGroups();
  for (const { name } of groups) {
    tree.putGroup({ name, createdMs: tree.sinceMs, revision }, 0);
  }
  for (const note of notes) tree.putNote({ ...note, revision }, 0);
  let pageToken: string | undefined;
  do {
    const page = await operations.listNodes({}, { pageSize, pageToken });
    for (const node of page.nodes) tree.putNode(node, 0);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  do {
    const page = await operations.listJobs({}, { pageSize, pageToken });
    for (const job of page.jobs) await readJob(operations, tree, job);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

async function readJob(operations: Operations, tree: Tree, job: EnergyJobView): Promise<void> {
  tree.putJob(job, 0);
  if (tree.notes.of("Job", job.id) !== undefined) tree.prime(job);
  if (job.energy === undefined) return;
  let pageToken: string | undefined;
  do {
    const pageSize = limits.pageSizeMax;
    const page = await operations.listTasks(job.id, [], { pageSize, pageToken });
    for (const task of page.tasks) tree.putTask(task, 0);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

/** `ended`: a job has just ended. */
export function applyEvent(tree: Tree, event: WatchEventView, ended: () => void): void {
  const { revision } = event;
  switch (event.kind) {
    case "job": {
      const { job } = event;
      tree.putJob(job, revision);
      if (isOver(job) && tree.noteEnd(job.id)) ended();
      return;
    }
    case "task":
      return tree.putTask(event.task, revision);
    case "node":
      return tree.putNode(event.node, revision);
    case "cluster": {
      const { name, createdAtMs } = event.cluster;
      return tree.putSite({ name, createdMs: createdAtMs, revision }, revision);
    }
    case "group":
      return tree.putGroup({ name: event.group.name, createdMs: tree.sinceMs, revision }, revision);
    case "removed":
      if (event.what === "job") tree.removeJob(event.id, revision);
      else if (event.what === "node") tree.dropNode(event.id, revision);
      else if (event.what === "nexus") tree.dropNote(event.id, revision);
      else if (event.what === "cluster") tree.dropSite(event.id, revision);
      else if (event.what === "group") tree.dropGroup(event.id, revision);
      return;
    case "nexus":
      return tree.putNote({ ...event.note, revision }, revision);
    case "service": // its jobs have their own events
    case "sync":
    case "bookmark":
      return;
  }
}
