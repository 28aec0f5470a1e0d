import type { ExplanationRow } from "../rows.ts";
import { clean, type Page, paint } from "./page.ts";
import { type Column, renderTable } from "./table.ts";
import { stateStyle } from "./values.ts";

type Reason = ExplanationRow["reasons"][number];
type Dependency = ExplanationRow["dependencies"][number];

export function renderExplanation(row: ExplanationRow, page: Page): string {
  const state = paint(row.state, stateStyle(row.state), page);
  const lines = [`job ${row.jobId} is ${state}: ${clean(row.summary)}`];
  if (row.ahead > 0) lines.push(`${row.ahead} pending tasks go before it.`);
  if (row.dependencies.length > 0)
    lines.push("", renderTable(dependencyColumns, row.dependencies, page));
  if (row.reasons.length > 0)
    lines.push("", renderTable(reasonColumns(row.nodes), row.reasons, page));
  if (row.hints.length > 0) {
    lines.push("", paint("What would help:", "bold", page));
    lines.push(...row.hints.map((hint) => `- ${clean(hint)}`));
  }
  return lines.join("\n");
}

const dependencyColumns: readonly Column<Dependency>[] = [
  { title: "WAITS FOR", align: "right", value: ({ jobId }) => jobId },
  { title: "NAME", value: ({ name }) => name },
  { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
  { title: "WANTED", value: ({ wants }) => wants },
  {
    title: "MET",
    value: ({ met, impossible }) => (impossible ? "never" : met ? "yes" : "not yet"),
    style: ({ impossible }) => (impossible ? "red" : undefined),
  },
];

const reasonColumns = (nodes: number): readonly Column<Reason>[] => [
  { title: "NODES", align: "right", value: (reason) => `${reason.nodes}/${nodes}` },
  { title: "REASON", value: (reason) => reason.reason },
  {
    title: "WAITING HELPS",
    value: (reason) => (reason.never ? "never" : "yes"),
    style: (reason) => (reason.never ? "red" : undefined),
  },
  { title: "FOR EXAMPLE", value: (reason) => reason.examples.join(", ") },
];
