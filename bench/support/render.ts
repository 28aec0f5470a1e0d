import { formatNumber } from "./numbers.ts";
import { isMet, type Measure, ratioOf } from "./part.ts";
import type { Result } from "./run-cases.ts";

const HEAD = ["measure", "value", "unit", "must", "ratio", "", "CPU ms per task", "note"];
const RIGHT = new Set([1, 4]);

/** All results as one table: a line for each case, and under it one for each of its measures. */
export function renderResults(results: readonly Result[]): string {
  const rows = results.flatMap(({ measures }) => measures.map(toRow));
  const widths = HEAD.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) =>
        RIGHT.has(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join("  ")
      .trimEnd();
  const lines = results.flatMap((result) => [
    "",
    titleOf(result),
    ...(result.failure === undefined ? [] : [`failed: ${result.failure}`]),
    ...result.measures.map((measure) => line(toRow(measure))),
  ]);
  return [line(HEAD), ...lines, ""].join("\n");
}

const titleOf = ({ id, what, seconds, loadBefore, loadAfter }: Result): string =>
  `${id}: ${what} (${seconds.toFixed(0)} s, load ${loadBefore.toFixed(1)} -> ${loadAfter.toFixed(1)})`;

function toRow(measure: Measure): readonly string[] {
  const { name, value, unit, must, cpuMsPerTask = {}, note = "" } = measure;
  const met = isMet(measure);
  const ratio = ratioOf(measure);
  const cpu = Object.entries(cpuMsPerTask).map(([who, ms]) => `${who} ${formatNumber(ms)}`);
  return [
    name,
    formatNumber(value),
    unit,
    must === undefined
      ? ""
      : `${must.kind === "at-least" ? ">=" : "<="} ${formatNumber(must.value)}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    met === undefined ? "" : met ? "met" : "missed",
    cpu.join(", "),
    note,
  ];
}
