import { joinShell } from "../../lib/shell.ts";
import type { ImportPlan, ImportStep } from "../coming-from/import-plan.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderTable } from "./table.ts";

/** The step of each key, and the command to type. `applied`: the word for keys that are sent to the server. */
export function renderPlan(
  { steps, flags }: ImportPlan,
  applied: string,
  page: TerminalPage,
): string {
  const how = (step: ImportStep): string => {
    switch (step.kind) {
      case "apply":
        return applied;
      case "flag":
        return withHint("at the server's start", step);
      case "stays":
        return withHint("stays in its file", step);
      case "blocked":
        return `not done: ${step.hint ?? ""}`;
      case "none":
        return "";
    }
  };
  const columns: readonly Column<ImportStep>[] = [
    { title: "KEY", value: ({ key }) => key },
    { title: "BECOMES", value: ({ becomes }) => becomes },
    {
      title: "HOW",
      value: how,
      style: ({ kind }) => (kind === "blocked" ? "yellow" : undefined),
    },
  ];
  const table = renderTable(columns, steps, page);
  if (flags.length === 0) return table;
  return `${table}\n\nStart the server with:  busbar server ${joinShell(flags)}`;
}

const withHint = (how: string, { hint }: ImportStep): string =>
  hint === undefined ? how : `${how}; ${hint}`;
