import { clean, cut, displayWidth, pad, type TerminalPage, paint, type Style } from "./page.ts";

export interface Column<Row> {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Only shown by `--output wide` and `csv`. */
  readonly isWide?: true;
  value(row: Row): string;
  /** For programs, where the text for people has less information: a time instead of "3h ago". */
  csv?(row: Row): string;
  style?(row: Row): Style | undefined;
}

/** How rows of one kind are shown: in tables, as CSV, and by name. */
export interface RowKind<Row> {
  /** "jobs": the key in JSON, and the noun in "no jobs". */
  readonly plural: string;
  columns(page: TerminalPage): readonly Column<Row>[];
  /** The name that commands accept. */
  name(row: Row): string;
}

const GAP = "  ";
/** Below this a column is useless; the terminal then wraps instead. */
const COLUMN_WIDTH_MIN = 4;

/** Empty columns are left out, unless there are no rows at all. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  page: TerminalPage,
): string {
  const wanted = columns.filter(({ isWide }) => isWide !== true || page.isWide === true);
  const texts = wanted.map((column) => rows.map((row) => clean(column.value(row))));
  const shown = wanted
    .map((column, at) => ({ column, cells: texts[at] ?? [] }))
    .filter(({ cells }) => cells.length === 0 || cells.some((cell) => cell !== ""));
  const widths = fitWidths(
    shown.map(({ column, cells }) =>
      cells.reduce((width, cell) => Math.max(width, displayWidth(cell)), column.title.length),
    ),
    page.width,
  );
  const line = (cellOf: (at: number) => string, styleOf: (at: number) => Style | undefined) =>
    shown
      .map(({ column }, at) => {
        const width = widths[at] ?? 0;
        const text = cut(cellOf(at), width);
        // The last column is not padded: trailing blanks wrap on a narrow terminal.
        const last = at === shown.length - 1 && column.align !== "right";
        return paint(last ? text : pad(text, width, column.align ?? "left"), styleOf(at), page);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    (at) => shown[at]?.column.title ?? "",
    () => "bold",
  );
  const body = rows.map((row, index) =>
    line(
      (at) => shown[at]?.cells[index] ?? "",
      (at) => shown[at]?.column.style?.(row),
    ),
  );
  return [head, ...body].join("\n");
}

/** Shrinks the widest column until everything fits. */
function fitWidths(natural: readonly number[], page: number | undefined): number[] {
  const widths = [...natural];
  if (page === undefined) return widths;
  const gaps = GAP.length * Math.max(0, widths.length - 1);
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width, gaps) - page;
    if (excess <= 0) return widths;
    const order = widths.map((width, at) => ({ width, at })).sort((a, b) => b.width - a.width);
    const widest = order[0];
    if (widest === undefined || widest.width <= COLUMN_WIDTH_MIN) return widths;
    // Down to the second widest at once, then both together: no loop per character.
    const floor = Math.max(COLUMN_WIDTH_MIN, Math.min(order[1]?.width ?? 0, widest.width - 1));
    widths[widest.at] = Math.max(floor, widest.width - excess);
  }
}

export const renderRows = <Row>(
  kind: RowKind<Row>,
  rows: readonly Row[],
  page: TerminalPage,
): string =>
  rows.length === 0 ? `no ${kind.plural}` : renderTable(kind.columns(page), rows, page);

/** "Name:  value" lines, aligned; empty values are left out. */
export function renderFields(
  fields: readonly (readonly [string, string, (Style | undefined)?])[],
  page: TerminalPage,
): string {
  const shown = fields.filter(([, value]) => value !== "");
  const width = shown.reduce((most, [name]) => Math.max(most, name.length + 1), 0);
  return shown
    .map(([name, value, style]) => {
      const label = paint(pad(`${name}:`, width, "left"), "bold", page);
      return `${label}  ${paint(clean(value), style, page)}`;
    })
    .join("\n");
}
