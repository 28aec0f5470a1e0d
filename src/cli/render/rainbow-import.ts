import { joinShell } from "../../lib/shell.ts";
import type { ImportPlan, ImportStep } from "../rainbow-import.ts";
import type { Page } from "./page.ts";
import { type Column, renderTable } from "./table.ts";

export function renderImport(plan: ImportPlan, isDry: boolean, page: Page): string {
  const how = (step: ImportStep): string => {
    switch (step.kind) {
      case "apply":
        return isDry ? "would be set" : "set";
      case "flag":
        return "at the server's start";
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
  const table = renderTable(columns, plan.steps, page);
  return [table, ...startOf(plan)].join("\n\n");
}

/** What to type, and the file it needs. */
function startOf({ flags, selectOptions }: ImportPlan): string[] {
  if (flags.length === 0) return [];
  const start = `Start the server with:  busbar server ${joinShell(flags)}`;
  if (Object.keys(selectOptions).length === 0) return [start];
  return [start, `select.yaml:\n${toYaml(selectOptions)}`];
}

/** Texts of several lines as blocks, as rainbow's own file has them. */
const toYaml = (options: Readonly<Record<string, string>>): string =>
  Object.entries(options)
    .map(([key, text]) =>
      text.includes("\n")
        ? `${key}: |\n${text.trimEnd().replace(/^(?=.)/gm, "  ")}`
        : `${key}: ${JSON.stringify(text)}`,
    )
    .join("\n");
