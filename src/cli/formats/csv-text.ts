/** Rows as RFC 4180 has them: a header, commas, line ends of one kind, quotes where they are needed. */
export const toCsv = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, ...rows].map(csvLine).join("\n");

export const csvLine = (cells: readonly string[]): string => cells.map(cell).join(",");

const cell = (text: string): string =>
  /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
