import { NO_STATE } from "../../graph/cluster-state.ts";
import { ClusterGraphs } from "../../graph/cluster-graphs.ts";
import type { Subsystem } from "../../graph/subsystems/subsystem.ts";
import type { Cluster, ClusterStatus } from "../../model/cluster.ts";
import type { DeclaredSoftware } from "../../model/declared-software.ts";
import { type ClusterId, NO_REVISION, type Revision } from "../../model/ids.ts";
import { CandidateLists } from "./candidate-lists.ts";
import { ClusterLoads } from "./cluster-loads.ts";

const isCountedDown = (before: ClusterStatus, after: ClusterStatus): boolean =>
  before.counters === after.counters &&
  Object.keys(before.state).length === Object.keys(after.state).length &&
  Object.entries(after.state).every(([key, { setAtMs, value }]) => {
    const known = Object.hasOwn(before.state, key) ? before.state[key] : undefined;
    if (known === undefined || known.setAtMs !== setAtMs) return false;
    return known.value === value || (typeof value === "number" && value < Number(known.value));
  });

const NOTHING_DECLARED: ReadonlyMap<string, DeclaredSoftware> = new Map();

/** All clusters: their rows, and the graphs of registered ones. Changed by State.apply. */
export class ClusterTable {
  readonly rows = new Map<ClusterId, Cluster>();
  /** Only of pull clusters; the graph of a managed cluster follows from its nodes. */
  readonly graphs = new ClusterGraphs();
  readonly loads = new ClusterLoads();
  readonly candidates = new CandidateLists(this);
  managedCount = 0;
  /** Grows whenever a cluster is added or removed. */
  version = 0;
  /** How many choices were made, for strategies that take turns. */
  turn = 0;
  readonly #declared = new Map<ClusterId, Map<string, DeclaredSoftware>>();
  readonly #revisions = new Map<ClusterId, Revision>();
  readonly #statuses = new Map<ClusterId, ClusterStatus>();

  get(id: ClusterId): Cluster | undefined {
    return this.rows.get(id);
  }

  /** The revision of its row, which every change of the cluster writes. */
  revisionOf(id: ClusterId): Revision {
    return this.#revisions.get(id) ?? NO_REVISION;
  }

  statusOf(id: ClusterId): ClusterStatus {
    return this.#statuses.get(id) ?? { id, state: NO_STATE, counters: [] };
  }

  hasStatus(id: ClusterId): boolean {
    return this.#statuses.has(id);
  }

  subsystem(id: ClusterId, name: string): Subsystem | undefined {
    return this.graphs.has(id) ? this.graphs.subsystems(id).get(name) : undefined;
  }

  /** Software declared for a managed cluster, by name. */
  declared(id: ClusterId): ReadonlyMap<string, DeclaredSoftware> {
    return this.#declared.get(id) ?? NOTHING_DECLARED;
  }

  /** Sorted by name. */
  get inOrder(): readonly Cluster[] {
    return [...this.rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  declare(row: DeclaredSoftware): void {
    this.#declared.set(row.id, new Map(this.#declared.get(row.id)).set(row.name, row));
  }

  undeclare(id: ClusterId, name: string): void {
    const own = new Map(this.#declared.get(id));
    own.delete(name);
    if (own.size > 0) this.#declared.set(id, own);
    else this.#declared.delete(id);
  }

  /** Returns whether the cluster is new. */
  put(row: Cluster, revision: Revision): boolean {
    const isNew = !this.rows.has(row.id);
    if (isNew) {
      this.version++;
      if (row.kind === "managed") this.managedCount++;
    }
    this.rows.set(row.id, row);
    this.#revisions.set(row.id, revision);
    return isNew;
  }

  remove(id: ClusterId): void {
    this.version++;
    if (this.rows.get(id)?.kind === "managed") this.managedCount--;
    this.rows.delete(id);
    this.#revisions.delete(id);
    this.loads.remove(id);
  }

  /**
   * Returns whether the cluster reported something. A counter that goes down frees nothing for
   * queued jobs.
   */
  putStatus(row: ClusterStatus): boolean {
    const before = this.statusOf(row.id);
    this.#statuses.set(row.id, row);
    return !isCountedDown(before, row);
  }

  /** Returns whether it had a status. */
  removeStatus(id: ClusterId): boolean {
    return this.#statuses.delete(id);
  }
}
