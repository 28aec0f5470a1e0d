import { type TerminalPage, clean } from "../render/page.ts";
import { renderRows, type RowKind } from "../render/table.ts";
import type { Answer } from "../session.ts";
import { toCsv } from "./csv-text.ts";

/** The data for formats that show only rows. */
export interface ShownRows {
  names(): readonly string[];
  csv(page: TerminalPage): string;
}

/** An answer that every format can show. */
export interface RowsAnswer extends Answer {
  readonly rows: ShownRows;
}

/** A list. `more`: it was truncated to a limit. */
export const listed = <Row>(
  kind: RowKind<Row>,
  rows: readonly Row[],
  more = false,
): RowsAnswer => ({
  json: { [kind.plural]: rows, ...(more ? { more } : {}) },
  text: (page) => renderRows(kind, rows, page),
  rows: shownRows(kind, rows),
});

export const shownRows = <Row>(kind: RowKind<Row>, rows: readonly Row[]): ShownRows => ({
  names: () => rows.map((row) => clean(kind.name(row))),
  csv: (page) => toCsv(csvHeader(kind, page), rows.map(csvCells(kind, page))),
});

/** "cpu_used": the same for every list of the kind, whatever its content. */
export const csvHeader = <Row>(kind: RowKind<Row>, page: TerminalPage): string[] =>
  kind.columns(page).map(({ title }) => title.toLowerCase().replaceAll(" ", "_"));

export const csvCells =
  <Row>(kind: RowKind<Row>, page: TerminalPage) =>
  (row: Row): string[] =>
    kind.columns(page).map((column) => column.csv?.(row) ?? column.value(row));
