export interface BoundedRow {
  readonly sizeBytes: number;
  /** It is dropped before any row that has not ended. */
  readonly isOver: boolean;
}

/**
 * Rows of an answer of limited size, in order of arrival. When they do not fit, the last of the ended ones are dropped first, then the last
 * of the others.
 */
export class BoundedRows<Row extends BoundedRow> {
  readonly #rows: Row[] = [];
  readonly #bytesMax: number;
  #openBytes = 0;
  #overBytes = 0;
  #hasRoomForOver = true;
  #isFull = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** No later row would stay. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** An ended row would stay. */
  get hasRoomForOver(): boolean {
    return this.#hasRoomForOver;
  }

  add(row: Row): void {
    if (row.isOver) this.#addOver(row);
    else this.#addOpen(row);
  }

  /** The rows that fit. */
  finish(): readonly Row[] {
    if (this.#isFull) return this.#rows.filter(({ isOver }) => !isOver);
    let excess = this.#openBytes + this.#overBytes - this.#bytesMax;
    const kept: Row[] = [];
    for (const row of this.#rows.toReversed()) {
      if (excess > 0 && row.isOver) excess -= row.sizeBytes;
      else kept.push(row);
    }
    return kept.reverse();
  }

  #addOver(row: Row): void {
    if (!this.#hasRoomForOver) return;
    if (this.#openBytes + this.#overBytes + row.sizeBytes > this.#bytesMax) {
      this.#hasRoomForOver = false; // a smaller row after it must not take its place
      return;
    }
    this.#overBytes += row.sizeBytes;
    this.#rows.push(row);
  }

  #addOpen(row: Row): void {
    if (this.#openBytes + row.sizeBytes > this.#bytesMax) this.#isFull = true;
    if (this.#isFull) return;
    this.#openBytes += row.sizeBytes;
    this.#rows.push(row);
  }
}
