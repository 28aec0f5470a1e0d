import type { Node } from "../../src/core/model/node/node.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable, RowMove } from "./durable.ts";
import { formatRun } from "./durable.ts";

/** Jobs and tasks on hold or paused by an answered request, and not released since. */
export class KeptBack {
  /** Jobs and tasks by their ids. */
  readonly #held = new Set<string>();
  readonly #paused = new Set<string>();
  /** The number of releases and resumes: they may undo earlier requests. */
  releases = 0;

  held(id: string): void {
    this.#held.add(id);
  }

  /** It is about to be released, or may be: for a job all tasks, and for a task its job. */
  released(id: string): void {
    this.releases++;
    const [job = ""] = id.split(".");
    for (const one of this.#held) {
      const isSame = one === id || one === job || (id === job && one.startsWith(`${job}.`));
      if (isSame) this.#held.delete(one);
    }
  }

  paused(group: string): void {
    this.#paused.add(group);
  }

  resumed(group: string): void {
    this.releases++;
    this.#paused.delete(group);
  }

  isHeld({ jobId, index }: Task): boolean {
    return this.#held.has(String(jobId)) || this.#held.has(`${jobId}.${index}`);
  }

  isPaused = (group: string): boolean => this.#paused.has(group);
}

/** A task on hold is not placed. */
export function holdsAreKept(kept: KeptBack, { tasks }: BatchMoves): Verdict {
  for (const { before, after } of tasks) {
    if (after === undefined || !kept.isHeld(after) || !isPlaced({ before, after })) continue;
    return `${formatRun(after)} is ${after.state.kind}, though it is on hold`;
  }
  return undefined;
}

/** Of a paused group nothing is placed. */
export function pausedPlaceNothing(kept: KeptBack, durable: Durable, moves: BatchMoves): Verdict {
  const moved = new Set(moves.jobs.map(({ after }) => after?.id as number | undefined));
  for (const { before, after } of moves.tasks) {
    if (after === undefined || moved.has(after.jobId) || !isPlaced({ before, after })) continue;
    const { group = "" } = durable.jobs.get(after.jobId)?.spec ?? {};
    if (!kept.isPaused(group)) continue;
    return `${formatRun(after)} is ${after.state.kind}, though group ${group} is paused`;
  }
  return undefined;
}

/** A new attempt, or an offer that a cluster has accepted. */
function isPlaced({ before, after }: RowMove<Task>): boolean {
  if (after === undefined) return false;
  const wasTaken = before?.state.kind === "offered" && "nodeId" in after.state;
  if (wasTaken || (before?.state.kind === "offered" && after.state.kind === "accepted"))
    return true;
  return after.attempt > (before?.attempt ?? 0);
}

/** A requeued task is stopped first, and gets another attempt. */
export function requeuedIsStoppedFirst(
  durable: Durable,
  { tasks, nodesBefore }: BatchMoves,
  alive: ReadonlySet<string>,
): Verdict {
  for (const { before, after } of tasks) {
    if (before === undefined || after === undefined) continue;
    const { state } = before;
    const isRequeued = state.kind === "stopping" && state.isRequeued === true;
    const isCancelled = after.state.kind === "cancelled" && isRequeued;
    if (isCancelled && after.state.reason === state.reason) {
      return `${formatRun(before)} was to be requeued, and is cancelled`;
    }
    const last = after.past.at(-1);
    if (last?.failure.kind !== "requeued" || last.attempt !== before.attempt) continue;
    if (before.past.at(-1)?.attempt === last.attempt) continue; // known already
    const id = last.nodeId ?? "";
    const isSame = sessionOf(nodesBefore.get(id)) === sessionOf(durable.nodes.get(id));
    const isThere = sessionOf(durable.nodes.get(id)) !== undefined && isSame;
    const run = formatRun({ ...before, attempt: last.attempt });
    if (isThere && alive.has(run)) return `${run} is requeued, and still runs on ${id}`;
  }
  return undefined;
}

/** Undefined: no agent there can stop anything. */
const sessionOf = (node: Node | undefined): number | undefined =>
  node?.link.kind === "connected" ? node.link.session : undefined;
