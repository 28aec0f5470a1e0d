/**
 * Estimates how deep a YAML text is nested, from its lexemes and their columns alone, before the parser builds anything: the parser would
 * work for half a minute on a file of nothing but brackets. The estimate may be too small where a list begins in the column of its key,
 * never too large.
 */
export class NestingMeter {
  /** The column where each open block begins, from the outside in. */
  readonly #columns: number[] = [];
  #brackets = 0;

  /** The depth after a lexeme that is not blank. `isValue`: the lexeme is a text, an alias, or a mark of one. */
  read(lexeme: string, column: number, isValue: boolean): number {
    const isOutside = this.#brackets === 0;
    const isLineStart = lexeme === ":" && column <= (this.#columns[0] ?? 0);
    if (isOutside && (isValue || isLineStart || OPENERS.has(lexeme))) this.#open(column);
    if (lexeme === "[" || lexeme === "{") this.#brackets += 1;
    if (lexeme === "]" || lexeme === "}") this.#brackets = Math.max(0, this.#brackets - 1);
    const ofKey = isOutside && lexeme === ":" ? 1 : 0;
    return Math.max(0, this.#columns.length - 1) + this.#brackets + ofKey;
  }

  /** A document has ended. */
  clear(): void {
    this.#columns.length = 0;
    this.#brackets = 0;
  }

  #open(column: number): void {
    while ((this.#columns.at(-1) ?? -1) >= column) this.#columns.pop();
    this.#columns.push(column);
  }
}

const OPENERS: ReadonlySet<string> = new Set(["-", "?", "[", "{"]);
