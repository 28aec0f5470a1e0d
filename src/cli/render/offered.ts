import type { OfferedRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderTable } from "./table.ts";
import { ago, amount } from "./values.ts";

export function renderOffered(tasks: readonly OfferedRow[], page: TerminalPage): string {
  if (tasks.length === 0) return "no tasks";
  const columns: readonly Column<OfferedRow>[] = [
    { title: "ID", align: "right", value: ({ id }) => id },
    { title: "NAME", value: ({ spec }) => spec.name },
    { title: "WORK", value: ({ spec }) => workOf(spec) },
    { title: "NEEDS", value: ({ spec }) => needsOf(spec) },
    { title: "OFFERED", value: ({ offeredAtMs }) => ago(offeredAtMs, page.nowMs) },
  ];
  return renderTable(columns, tasks, page);
}

const WORK_SHOWN = 40;

function workOf({ command, script, jobspec }: OfferedRow["spec"]): string {
  if (jobspec !== undefined) return "a jobspec";
  const text = command?.join(" ") ?? script?.split("\n", 1)[0] ?? "";
  return text.length > WORK_SHOWN ? `${text.slice(0, WORK_SHOWN - 1)}…` : text;
}

const needsOf = ({ resources = {} }: OfferedRow["spec"]): string =>
  Object.entries(resources)
    .map(([name, value]) => `${name} ${amount(name, value)}`)
    .join(", ");
