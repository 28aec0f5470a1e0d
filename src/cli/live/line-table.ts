import { clean, displayWidth, pad, type TerminalPage } from "../render/page.ts";
import type { Column, RowKind } from "../render/table.ts";

/** Lines of an endless table: each column is as wide as its widest cell so far. */
export function createLineTable<Row>(kind: RowKind<Row>) {
  const widths: number[] = [];
  const line = (cells: readonly string[], columns: readonly Column<Row>[]): string =>
    cells
      .map((cell, at) => pad(cell, widths[at] ?? 0, columns[at]?.align ?? "left"))
      .join("  ")
      .trimEnd();
  return {
    /** The rows, below a header if nothing was printed before. */
    lines(rows: readonly Row[], page: TerminalPage): readonly string[] {
      const columns = kind
        .columns(page)
        .filter(({ isWide }) => isWide !== true || page.isWide === true);
      const isFirst = widths.length === 0;
      const titles = columns.map(({ title }) => title);
      const cells = rows.map((row) => columns.map((column) => clean(column.value(row))));
      for (const each of [titles, ...cells]) {
        each.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell))));
      }
      return [...(isFirst ? [titles] : []), ...cells].map((each) => line(each, columns));
    },
  };
}
