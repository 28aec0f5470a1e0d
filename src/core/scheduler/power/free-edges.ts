import type { Power } from "../../model/node/power.ts";
import type { NodeRecord } from "../nodes/node-record.ts";

/**
 * Nodes that have power and work at no share, those of the same power together: of a thousand that are alike a split needs to
 * look at no more than it makes shares. One that expects changes is alike to none.
 */
export class FreeEdges {
  readonly #byKind = new Map<string, Set<NodeRecord>>();
  readonly #kindOf = new Map<NodeRecord, string>();

  /** One that stays of its kind keeps its place: the one that was free first is taken first. */
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

  /** All of one kind, kind by kind. */
  kinds(): Iterable<ReadonlySet<NodeRecord>> {
    return this.#byKind.values();
  }
}

const kindOf = (id: string, { watts, changes, greatestShare, tickMs }: Power): string =>
  changes === undefined || changes.length === 0
    ? `${watts} ${greatestShare ?? ""} ${tickMs ?? ""}`
    : `of ${id}`;
