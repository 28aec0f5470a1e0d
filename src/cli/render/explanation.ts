import type { ExplanationRow, PlacesRow } from "../rows.ts";
import { clean, type TerminalPage, paint, type Style } from "./page.ts";
import { type Column, renderTable } from "./table.ts";
import { stateStyle } from "./values.ts";

type Reason = PlacesRow["reasons"][number];
type Cluster = PlacesRow["clusters"][number];
type Dependency = ExplanationRow["dependencies"][number];

export function renderExplanation(row: ExplanationRow, page: TerminalPage): string {
  const state = paint(row.state, stateStyle(row.state), page);
  const lines = [`job ${row.jobId} is ${state}: ${clean(row.summary)}`];
  if (row.ahead > 0) lines.push(`${row.ahead} pending tasks go before it.`);
  const dependencies =
    row.dependencies.length === 0 ? [] : [renderTable(dependencyColumns, row.dependencies, page)];
  return [lines.join("\n"), ...dependencies, ...placesSections(row, row.nodes, page)].join("\n\n");
}

/** Why tasks are pending and what would help, a text each. `nodes`: their number, if it is known. */
export function placesSections(
  { reasons, clusters, hints, cheapestChange }: PlacesRow,
  nodes: number | undefined,
  page: TerminalPage,
): readonly string[] {
  const bold = (text: string): string => paint(text, "bold", page);
  return [
    ...(reasons.length === 0 ? [] : [renderTable(reasonColumns(nodes), reasons, page)]),
    ...(clusters.length === 0 ? [] : [renderTable(clusterColumns, clusters, page)]),
    ...(cheapestChange === undefined ? [] : [bold(`Cheapest change: ${clean(cheapestChange)}`)]),
    ...(hints.length === 0
      ? []
      : [[bold("What would help:"), ...hints.map((hint) => `- ${clean(hint)}`)].join("\n")]),
  ];
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

const VERDICT_STYLES: Readonly<Record<string, Style>> = { now: "green", never: "red" };

const clusterColumns: readonly Column<Cluster>[] = [
  { title: "CLUSTER", value: ({ cluster }) => cluster },
  { title: "KIND", value: ({ kind }) => kind },
  {
    title: "WHEN",
    value: ({ verdict }) => verdict,
    style: ({ verdict }) => VERDICT_STYLES[verdict],
  },
  { title: "WHY", value: ({ reasons }) => reasons.join("; or ") },
];

const reasonColumns = (nodes: number | undefined): readonly Column<Reason>[] => [
  {
    title: "NODES",
    align: "right",
    value: (reason) => (nodes === undefined ? `${reason.nodes}` : `${reason.nodes}/${nodes}`),
  },
  { title: "REASON", value: (reason) => reason.reason },
  {
    title: "WAITING HELPS",
    value: (reason) => (reason.never ? "never" : "yes"),
    style: (reason) => (reason.never ? "red" : undefined),
  },
  { title: "FOR EXAMPLE", value: (reason) => reason.examples.join(", ") },
];
