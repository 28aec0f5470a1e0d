import type { LiveList, RowChange, SeenRow } from "./live-list.ts";

/** The rows of a list by name, and the change of each update. */
export class RowBook<Row> {
  readonly #live: Pick<LiveList<Row>, "kind" | "choose" | "revisionOf">;
  #rows = new Map<string, Row>();

  constructor(live: Pick<LiveList<Row>, "kind" | "choose" | "revisionOf">) {
    this.#live = live;
  }

  get shown(): readonly Row[] {
    return [...this.#rows.values()];
  }

  /** The whole list after a read; a row with a newer event stays unchanged. */
  replace(listed: readonly Row[]): readonly RowChange<Row>[] {
    const { kind } = this.#live;
    return this.#become(
      listed.map((row) => {
        const known = this.#rows.get(kind.name(row));
        return known !== undefined && this.#isOlder(row, known) ? known : row;
      }),
    );
  }

  see(seen: SeenRow<Row>): readonly RowChange<Row>[] {
    if (seen === undefined) return [];
    const { kind } = this.#live;
    const name = "row" in seen ? kind.name(seen.row) : seen.removed;
    const known = this.#rows.get(name);
    if ("row" in seen && known !== undefined && this.#isOlder(seen.row, known)) return [];
    const others = this.shown.filter((row) => kind.name(row) !== name);
    return this.#become("row" in seen ? [seen.row, ...others] : others);
  }

  /** A row that leaves because newer ones fill the list is not reported. */
  #become(rows: readonly Row[]): readonly RowChange<Row>[] {
    const { kind, choose } = this.#live;
    const candidates = new Set(rows.map((row) => kind.name(row)));
    const before = this.#rows;
    this.#rows = new Map(choose(rows).map((row) => [kind.name(row), row]));
    const changed = [...this.#rows]
      .filter(([name, row]) => !isSame(row, before.get(name)))
      .map(([name, row]) => ({ name, row }));
    const gone = [...before.keys()]
      .filter((name) => !this.#rows.has(name) && !candidates.has(name))
      .map((name) => ({ name, row: undefined }));
    const left = [...before.keys()]
      .filter((name) => !this.#rows.has(name) && candidates.has(name))
      .flatMap((name) => {
        const row = rows.find((each) => kind.name(each) === name);
        return row === undefined || isSame(row, before.get(name)) ? [] : [{ name, row: undefined }];
      });
    return [...changed, ...gone, ...left];
  }

  #isOlder(row: Row, known: Row): boolean {
    return this.#live.revisionOf(row) < this.#live.revisionOf(known);
  }
}

const isSame = (row: unknown, other: unknown): boolean =>
  row === other || JSON.stringify(row) === JSON.stringify(other);
