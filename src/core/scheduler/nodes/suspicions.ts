import { limits } from "../../../limits.ts";
import type { ClusterId, JobId, NodeId } from "../../model/ids.ts";
import type { Node } from "../../model/node/node.ts";
import type { TaskFailure, Task } from "../../model/job/task.ts";
import { MultiMap } from "../../../lib/collections/multi-map.ts";
import type { NodeRecord } from "./node-record.ts";

/** When a node is quarantined, and for how long at first. */
export interface QuarantineTerms {
  /** The number of different jobs that fail at once, in a row; 0: no node is ever quarantined. */
  readonly jobs: number;
  /** A task that fails within this time after its start fails at once. */
  readonly quickMs: number;
  /** The time until a quarantined node gets one task; doubles each time that task fails, too. */
  readonly firstMs: number;
}

export const QUARANTINE_TERMS: QuarantineTerms = {
  jobs: limits.quarantineJobs,
  quickMs: limits.quickFailureMs,
  firstMs: limits.quarantineMs,
};

/** The meaning of the end of an attempt for its node. */
export type EndVerdict = "worked" | "failed-at-once" | "nothing";

interface Streak {
  /** The turn of its first failure. */
  readonly sinceTurn: number;
  /** Jobs that failed at once, the latest last, and when. */
  readonly jobs: Map<JobId, number>;
}

interface SuspectJob {
  /** The node on which it failed at once; undefined: several. */
  node: NodeId | undefined;
  hasWorked: boolean;
}

interface Worked {
  readonly node: NodeId;
  readonly turn: number;
}

/**
 * Evidence against nodes: jobs that failed there right after their start, one after the other. Follows
 * State.apply; not stored: a restarted server collects it again. Bounded in nodes and jobs.
 */
export class Suspicions {
  /** Of nodes on which no task has worked since. */
  readonly #streaks = new Map<NodeId, Streak>();
  /** Jobs that failed at once on some node, the latest last. */
  readonly #jobs = new Map<JobId, SuspectJob>();
  /** By cluster: the node on which a task worked last, and the last one on another node. */
  readonly #worked = new Map<ClusterId, { latest: Worked; other: Worked | undefined }>();
  readonly #toJudge = new Set<NodeId>();
  /** By cluster: nodes with enough failures that were checked before a task worked on another node. */
  readonly #unproven = new MultiMap<ClusterId, NodeId>();
  readonly terms: QuarantineTerms;
  readonly #quarantined = new Set<NodeRecord>();
  #turn = 0;

  constructor(terms = QUARANTINE_TERMS) {
    this.terms = terms;
  }

  #ended(node: Node, jobId: JobId, verdict: EndVerdict, atMs: number): void {
    if (node.clusterAgent !== undefined || node.power?.site !== undefined) return; // its scheduler chooses among many machines
    if (node.quarantine !== undefined) this.#toJudge.add(node.id);
    if (verdict === "failed-at-once") this.#failed(node, jobId, atMs);
    else if (verdict === "worked" && this.#jobs.size > 0) this.#workedOn(node, jobId);
  }

  /** A task left the node: the end of its attempt is evidence for or against the node. */
  left(node: Node, { jobId, attempt }: Task, after: Task): void {
    const { state, past } = after;
    const atMs = "endedAtMs" in state ? state.endedAtMs : (past.at(-1)?.endedAtMs ?? 0);
    this.#ended(node, jobId, this.verdictOn(after, attempt) ?? "nothing", atMs);
  }

  /** The outcome of an attempt, from the task's row after it; undefined: it continues, or is unknown. */
  verdictOn({ state, past, attempt: latest }: Task, attempt: number): EndVerdict | undefined {
    const { quickMs } = this.terms;
    if (latest === attempt && state.kind === "succeeded") return "worked";
    if (latest === attempt && state.kind === "failed") return verdictOnEnd(state, quickMs);
    if (latest === attempt && state.kind === "cancelled") return "nothing";
    const end = past.findLast((one) => one.attempt === attempt);
    return end && verdictOnEnd(end, quickMs);
  }

  /** A released node starts without evidence. */
  nodeChanged(record: NodeRecord): void {
    if (record.node.quarantine !== undefined) this.#quarantined.add(record);
    else if (this.#quarantined.has(record)) this.nodeRemoved(record);
  }

  nodeRemoved(record: NodeRecord): void {
    this.#quarantined.delete(record);
    this.#streaks.delete(record.node.id);
    this.#toJudge.delete(record.node.id);
  }

  get quarantined(): ReadonlySet<NodeRecord> {
    return this.#quarantined;
  }

  /** A node with new evidence; returns each once. */
  next(): NodeId | undefined {
    for (const id of this.#toJudge) {
      this.#toJudge.delete(id);
      return id;
    }
    return undefined;
  }

  /**
   * The different jobs that are evidence against the node. A job is evidence when it failed at once there, no task has worked there since,
   * and the job worked elsewhere or failed nowhere else: a job that fails everywhere is itself at fault. And while no task has worked on
   * another node of the cluster, all nodes may be bad.
   */
  evidence({ id, cluster }: Node, nowMs: number): readonly JobId[] {
    const streak = this.#streaks.get(id);
    if (streak === undefined) return [];
    const { latest, other } = this.#worked.get(cluster) ?? {};
    const elsewhere = latest?.node === id ? other : latest;
    if (elsewhere === undefined || elsewhere.turn < streak.sinceTurn) return [];
    const sinceMs = nowMs - limits.quarantineWindowMs;
    return [...streak.jobs]
      .filter(([job, atMs]) => atMs >= sinceMs && this.#isEvidenceAgainst(job, id))
      .map(([job]) => job);
  }

  /** Whether the job's failures are evidence against the node. */
  #isEvidenceAgainst(job: JobId, node: NodeId): boolean {
    const suspect = this.#jobs.get(job);
    return suspect === undefined || suspect.hasWorked || suspect.node === node;
  }

  /** Whether, as far as is known, the job itself is the cause of its failures. */
  isPoison(job: JobId): boolean {
    const suspect = this.#jobs.get(job);
    return suspect !== undefined && suspect.node === undefined && !suspect.hasWorked;
  }

  #failed({ id, cluster }: Node, job: JobId, atMs: number): void {
    this.#turn++;
    const streak = this.#streaks.get(id) ?? { sinceTurn: this.#turn, jobs: new Map() };
    this.#streaks.set(id, streak);
    putLast(streak.jobs, job, atMs, limits.suspectJobsPerNodeMax);
    const known = this.#jobs.get(job);
    const isElsewhere = known !== undefined && known.node !== id;
    const suspect = known ?? { node: id, hasWorked: false };
    if (isElsewhere) suspect.node = undefined;
    putLast(this.#jobs, job, suspect, limits.suspectJobsMax);
    const { jobs } = this.terms;
    if (jobs === 0 || streak.jobs.size < jobs) return;
    this.#toJudge.add(id);
    this.#unproven.add(cluster, id);
  }

  #workedOn({ id, cluster }: Node, job: JobId): void {
    this.#turn++;
    this.#streaks.delete(id);
    const suspect = this.#jobs.get(job);
    if (suspect !== undefined) suspect.hasWorked = true;
    const latest = { node: id, turn: this.#turn };
    const before = this.#worked.get(cluster);
    const other = before?.latest.node === id ? before.other : before?.latest;
    this.#worked.set(cluster, { latest, other });
    // Once for each failure: the jobs are at fault, or the evidence against the node is enough by now.
    for (const node of this.#unproven.get(cluster)) {
      this.#unproven.delete(cluster, node);
      if (node !== id) this.#toJudge.add(node);
    }
  }
}

/** Beyond the limit it drops the oldest. */
function putLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

interface AttemptEnd {
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly failure: TaskFailure;
}

function verdictOnEnd(end: AttemptEnd, quickMs: number): EndVerdict {
  switch (end.failure.kind) {
    case "could-not-start":
      return "failed-at-once";
    case "exited":
    case "signalled": {
      if (end.failure.kind === "exited" && end.failure.exitCode === 0) return "worked"; // a service
      const tookMs = end.endedAtMs - (end.startedAtMs ?? end.endedAtMs);
      return tookMs < quickMs ? "failed-at-once" : "worked";
    }
    case "time-limit":
    case "out-of-memory": // it requested too little, on any node
      return "worked";
    case "node-fault":
    case "vanished":
    case "lost":
    case "requeued":
      return "nothing";
  }
}
