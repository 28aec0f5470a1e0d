import type { ClusterAnswerRow, SatisfyRow, SelectionRow } from "../rows.ts";
import { clean, type TerminalPage, paint } from "./page.ts";
import { type Column, renderTable } from "./table.ts";

const columns: readonly Column<ClusterAnswerRow>[] = [
  { title: "CLUSTER", value: ({ cluster }) => cluster },
  { title: "EVER", value: ({ ever }) => yes(ever), style: ({ ever }) => (ever ? "green" : "red") },
  { title: "NOW", value: ({ now }) => yes(now), style: ({ now }) => (now ? "green" : "red") },
  { title: "SLOTS", align: "right", value: ({ slots, ever }) => (ever ? String(slots) : "") },
  { title: "WHY NOT", value: ({ reasons }) => reasons.join("; or ") },
];

const yes = (is: boolean): string => (is ? "yes" : "no");

/** One table; for several tasks a section each, and at last the result for all of them. */
export function renderSatisfy(row: SatisfyRow, page: TerminalPage): string {
  const { tasks, selection } = row;
  const [first] = tasks;
  if (first === undefined || first.clusters.length === 0) return "there are no clusters";
  const sections = tasks.map(({ name, clusters }) => {
    const table = renderTable(columns, clusters, page);
    return tasks.length === 1 ? table : `${paint(clean(name), "bold", page)}\n${table}`;
  });
  if (tasks.length > 1) sections.push(summaryOf(row));
  if (selection !== undefined) sections.push(describeSelection(selection));
  return sections.join("\n\n");
}

function summaryOf({ tasks, ever, now, oneAfterOther }: SatisfyRow): string {
  if (ever.length === 0) return `no cluster can run all ${tasks.length} tasks`;
  const can = `can run all ${tasks.length} tasks: ${ever.map(clean).join(", ")}`;
  const all =
    now.length === ever.length ? can : `${can} (now: ${now.map(clean).join(", ") || "none"})`;
  if (oneAfterOther.length === 0) return all;
  return `${all}\none after the other, because not all fit at once: ${oneAfterOther.map(clean).join(", ")}`;
}

function describeSelection({ strategy, chosen, ranked, dropped }: SelectionRow): string {
  const others = ranked.slice(1).map(clean).join(", ");
  const lines = [
    chosen === undefined
      ? `${clean(strategy)} selects none`
      : `${clean(strategy)} selects ${clean(chosen)}${others === "" ? "" : `, then ${others}`}`,
    ...dropped.map(({ name, reason }) => `not ${clean(name)}: ${clean(reason)}`),
  ];
  return lines.join("\n");
}
