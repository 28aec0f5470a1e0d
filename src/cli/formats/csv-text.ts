/** Rows by RFC 4180: a header, commas, one kind of line end, quotes where necessary. */
export const toCsv = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, ...rows].map(csvLine).join("\n");

export const csvLine = (cells: readonly string[]): string => cells.map(cell).join(",");

const cell = (text: string): string =>
  /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
