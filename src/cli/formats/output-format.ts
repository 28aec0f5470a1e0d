import { invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";

/** The values of `--output`, in the order of help and errors. */
export const outputFormats = ["table", "wide", "json", "yaml", "csv", "name"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Formats that show only rows: only commands that list or show rows have them. */
const ROW_FORMATS: ReadonlySet<string> = new Set<OutputFormat>(["csv", "name"]);

export function readOutputFormat(text: string): OutputFormat {
  const found = outputFormats.find((format) => format === text);
  if (found !== undefined) return found;
  const meant = nearest(text, outputFormats);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  throw invalid("--output", `"${text}" is not one of ${outputFormats.join(", ")}${hint}`);
}

/** Checked before the command does anything: a change whose answer cannot be shown must not be made. */
export function refuseRowFormats(format: OutputFormat): void {
  if (!ROW_FORMATS.has(format)) return;
  const others = outputFormats.filter((each) => !ROW_FORMATS.has(each)).join(", ");
  throw invalid("--output", `${format} is for commands that list or show rows; here: ${others}`);
}

/** Whether answers are values for programs rather than texts for people. */
export const isDocument = (format: OutputFormat): boolean => format === "json" || format === "yaml";
