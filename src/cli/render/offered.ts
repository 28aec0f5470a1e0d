import type { OfferedRow } from "../rows.ts";
import type { RowKind } from "./table.ts";
import { amount, momentColumn } from "./values.ts";

export const OFFERED: RowKind<OfferedRow> = {
  plural: "tasks",
  name: ({ id }) => id,
  columns: ({ nowMs }) => [
    { title: "ID", align: "right", value: ({ id }) => id },
    { title: "NAME", value: ({ spec }) => spec.name },
    { title: "WORK", value: ({ spec }) => workOf(spec) },
    { title: "NEEDS", value: ({ spec }) => needsOf(spec) },
    momentColumn("OFFERED", ({ offeredAtMs }) => offeredAtMs, nowMs),
  ],
};

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
