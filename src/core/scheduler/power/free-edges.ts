import type { Power } from "../../model/node/power.ts";
import type { NodeRecord } from "../nodes/node-record.ts";

/**
 * Nodes with power and without a share, grouped by equal power: of a thousand equal nodes a split looks at no more than it makes shares. A
 * node with expected changes is in a group of its own.
 */
export class FreeEdges {
  readonly #byKind = new Map<string, Set<NodeRecord>>();
  readonly #kindOf = new Map<NodeRecord, string>();

  /**
   * A node whose kind does not change keeps its position: the node that was free first is used
   * first.
   */
  put(record: NodeRecord): void {
    const { id, power } = record.node;
    const kind = power === undefined || power.watts === 0 ? undefined : kindOf(id, power);
    if (this.#kindOf.get(record) === kind) return;
    this.delete(record);
    if (kind === undefined) return;
    this.#kindOf.set(record, kind);
    const alike = this.#byKind.get(kind);
    if (alike === undefined) this.#byKind.set(kind, new Set([record]));
    else alike.add(record);
  }

  delete(record: NodeRecord): void {
    const kind = this.#kindOf.get(record);
    if (kind === undefined) return;
    this.#kindOf.delete(record);
    const alike = this.#byKind.get(kind);
    alike?.delete(record);
    if (alike?.size === 0) this.#byKind.delete(kind);
  }

  /** The nodes of one kind, kind by kind. */
  kinds(): Iterable<ReadonlySet<NodeRecord>> {
    return this.#byKind.values();
  }
}

const kindOf = (id: string, { watts, changes, greatestShare, tickMs }: Power): string =>
  changes === undefined || changes.length === 0
    ? `${watts} ${greatestShare ?? ""} ${tickMs ?? ""}`
    : `of ${id}`;
